// Larger matrices, whose rows or columns are runs in memory: of every use, in the order of memory and across it, inside
// and over each edge, with strides, and as the patches of an image (4 dimensions, with a view that leaves out columns).
//
// test run
// subgroup 32
// spec 0=OY 1=OX 2=SX
// keys T=float16_t TT=f16 U=Accumulator OY=0 OX=0 SX=1
// define TYPE T
// define USE_ U
// in 0.0 TT rand 2048 7 -4 4 1
// out 0.1 TT gen 20 x 24 = r+OY>=0&&r+OY<30&&c+OX>=0&&c+OX<32?$0.0[(r+OY)*32*SX+(c+OX)*SX]:0
// out 0.2 TT gen 24 x 20 = c+OY>=0&&c+OY<30&&r+OX>=0&&r+OX<32?$0.0[(c+OY)*32*SX+(r+OX)*SX]:0
// out 0.3 TT gen 16 x 12 = div(r,4)+OY>=0&&div(r,4)+OY<5&&2*(r%4)+OX>=0&&2*(r%4)+OX<6?$0.0[(div(r,4)+OY)*72+(2*(r%4)+OX)*12+c]:0
// inout 0.4 TT fill 1920 9
// out 0.4 TT gen 1920 = i%SX==0&&div(i,32*SX)>=OY&&div(i,32*SX)<OY+20&&div(i,32*SX)<30&&div(i,SX)%32>=OX&&div(i,SX)%32<OX+24?$0.0[i]:9
//
// case inside: OY=3 OX=5
// case inside-a: OY=3 OX=5 U=A
// case inside-b: OY=3 OX=5 U=B
// case over-the-end: OY=14 OX=13
// case over-the-end-a: OY=14 OX=13 U=A
// case over-the-end-b: OY=14 OX=13 U=B
// case before-the-start: OY=-2 OX=-3
// case outside: OY=30 OX=0
// case strided: OY=2 OX=6 SX=2
// case strided-edge: OY=12 OX=-2 SX=2 U=B
// case floats: T=float TT=f32 OY=13 OX=-4
// case floats-inside: T=float TT=f32 OY=1 OX=4 U=A
// case bytes: T=int8_t TT=i8 OY=11 OX=2
// case bytes-a: T=int8_t TT=i8 OY=11 OX=-2 U=A
// case bytes-b: T=int8_t TT=i8 OY=11 OX=10 U=B
// case shorts: T=int16_t TT=i16 OY=-1 OX=10 U=B
// case words: T=int32_t TT=i32 OY=-1 OX=9 U=A
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const int OFFSET_Y = 1;
layout(constant_id = 1) const int OFFSET_X = 1;
layout(constant_id = 2) const uint STRIDE = 1;
layout(set = 0, binding = 0) readonly buffer I0 { TYPE a[]; };
layout(set = 0, binding = 1) buffer O1 { TYPE plain[]; };
layout(set = 0, binding = 2) buffer O2 { TYPE transposed[]; };
layout(set = 0, binding = 3) buffer O3 { TYPE patches[]; };
layout(set = 0, binding = 4) buffer O4 { TYPE stored[]; };

#define COOPMAT(rows, cols) coopmat<TYPE, gl_ScopeSubgroup, rows, cols, MATRIX_USE(USE_)>
const uint CONSTANT = gl_CooperativeMatrixClampModeConstantNV;

void main()
{
    tensorLayoutNV<2, CONSTANT> t = createTensorLayoutNV(2, CONSTANT);
    t = setTensorLayoutDimensionNV(t, 30, 32);
    t = setTensorLayoutStrideNV(t, 32 * STRIDE, STRIDE);
    t = sliceTensorLayoutNV(t, OFFSET_Y, 20, OFFSET_X, 24);
    COOPMAT(20, 24) m = COOPMAT(20, 24)(0);
    coopMatLoadTensorNV(m, a, 0, t);
    coopMatStore(m, plain, 0, 24, ROW_MAJOR);
    coopMatStoreTensorNV(m, stored, 0, t);
    COOPMAT(24, 20) n = COOPMAT(24, 20)(0);
    coopMatLoadTensorNV(n, a, 0, t, createTensorViewNV(2, false, 1, 0));
    coopMatStore(n, transposed, 0, 20, ROW_MAJOR);

    // Every second column of 4 rows of an image of 5 by 6 pixels with 12 channels each.
    tensorLayoutNV<4, CONSTANT> image = createTensorLayoutNV(4, CONSTANT);
    image = setTensorLayoutDimensionNV(image, 1, 5, 6, 12);
    image = sliceTensorLayoutNV(image, 0, 1, OFFSET_Y, 4, OFFSET_X, 8, 0, 12);
    tensorViewNV<4, true, 0, 1, 2, 3> v = createTensorViewNV(4, true, 0, 1, 2, 3);
    v = setTensorViewDimensionsNV(v, 1, 4, 4, 12);
    v = setTensorViewStrideNV(v, 4 * 8 * 12, 8 * 12, 2 * 12, 1);
    COOPMAT(16, 12) p = COOPMAT(16, 12)(0);
    coopMatLoadTensorNV(p, a, 0, image, v);
    coopMatStore(p, patches, 0, 12, ROW_MAJOR);
}
