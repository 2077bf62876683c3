// What only a dispatch can know to be a mistake does something harmless and is told of, once for each access,
// however many work-groups make it: sizes of 0, a clip outside of the matrix, blocks in a store.
//
// test run
// subgroup 4 32
// dispatch 3 2 1
// in 0.0 f32 ramp 64 0 1
// in 0.1 u32 [DIM SPAN BLOCK VIEW CLIP]
// out 0.2 f32 gen 4 x 4 = EX
// inout 0.3 f32 fill 16 -2
// out 0.3 f32 gen 16 = ST
//
// case fine: DIM=4 SPAN=4 BLOCK=1 VIEW=4 CLIP=0 EX=4*r+c ST=5
// case no-dimension: DIM=0 SPAN=4 BLOCK=1 VIEW=4 CLIP=0 EX=-1 ST=-2
// printf "warning: OpCooperativeMatrixLoadTensorNV at tensor-mistakes.comp:47: coordinates are divided by 0, which gives 0, the layout's dimensions [4, 0], the layout's spans [4, 4], the layout's block sizes [1, 1], the view's dimensions [4, 4]"
// printf "warning: OpCooperativeMatrixStoreTensorNV at tensor-mistakes.comp:51: coordinates are divided by 0, which gives 0, the layout's dimensions [4, 0], the layout's spans [4, 4], the layout's block sizes [1, 1]"
// case no-span: DIM=4 SPAN=0 BLOCK=1 VIEW=4 CLIP=0 EX=0 ST=i==0?5:-2
// printf "warning: OpCooperativeMatrixLoadTensorNV at tensor-mistakes.comp:47: coordinates are divided by 0, which gives 0, the layout's dimensions [4, 4], the layout's spans [4, 0], the layout's block sizes [1, 1], the view's dimensions [4, 4]"
// printf "warning: OpCooperativeMatrixStoreTensorNV at tensor-mistakes.comp:51: coordinates are divided by 0, which gives 0, the layout's dimensions [4, 4], the layout's spans [4, 0], the layout's block sizes [1, 1]"
// case no-block: DIM=4 SPAN=4 BLOCK=0 VIEW=4 CLIP=0 EX=4*r+c ST=i%4==0?5:-2
// printf "warning: OpCooperativeMatrixStoreTensorNV at tensor-mistakes.comp:51: coordinates are divided by 0, which gives 0, the layout's dimensions [4, 4], the layout's spans [4, 4], the layout's block sizes [1, 0]"
// case no-view: DIM=4 SPAN=4 BLOCK=1 VIEW=0 CLIP=0 EX=0 ST=5
// printf "warning: OpCooperativeMatrixLoadTensorNV at tensor-mistakes.comp:47: coordinates are divided by 0, which gives 0, the layout's dimensions [4, 4], the layout's spans [4, 4], the layout's block sizes [1, 1], the view's dimensions [4, 0]"
// case clip-outside: DIM=4 SPAN=4 BLOCK=1 VIEW=4 CLIP=4 EX=7 ST=5
// printf "warning: OpCooperativeMatrixLoadTensorNV at tensor-mistakes.comp:47: the clip begins at row 4 of 4, outside of the matrix: nothing is accessed"
// case blocks-stored: DIM=4 SPAN=4 BLOCK=2 VIEW=4 CLIP=0 EX=4*r+c ST=i%4<2?5:-2
// printf "warning: OpCooperativeMatrixStoreTensorNV at tensor-mistakes.comp:51: the layout's block size 1 is 2, larger than 1: some element of a block is stored"
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer I0 { float a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { uint dim; uint span; uint block; uint view; uint clip; };
layout(set = 0, binding = 2) buffer O2 { float loaded[]; };
layout(set = 0, binding = 3) buffer O3 { float stored[]; };

void main()
{
    MATRIX(float, 4, 4, A) m = MATRIX(float, 4, 4, A)(7);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> t = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    t = setTensorLayoutDimensionNV(t, 4, dim);
    t = setTensorLayoutClampValueNV(t, floatBitsToUint(-1.0));
    t = sliceTensorLayoutNV(t, 0, 4, 0, span);
    tensorViewNV<2, true> v = createTensorViewNV(2, true);
    v = setTensorViewDimensionsNV(v, 4, view);
    v = setTensorViewClipNV(v, clip, 4, 0, 4);
    coopMatLoadTensorNV(m, a, 0, t, v);
    coopMatStore(m, loaded, 0, 4, ROW_MAJOR);
    t = setTensorLayoutBlockSizeNV(t, 1, block);
    m = MATRIX(float, 4, 4, A)(5);
    coopMatStoreTensorNV(m, stored, 0, t);
}
