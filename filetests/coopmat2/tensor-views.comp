// Views: permutations, dimensions and strides of their own, clips that cut, reach beyond the matrix or leave nothing.
// What is clipped keeps what the matrix held.
//
// test run
// subgroup 4 32
// spec 0=R 1=C
// keys DIMS_SET=0 CLIP=0,0xffffffff,0,0xffffffff VSET=0 SPAN=0,8,0,8 HAS=false
// define VIEW V
// define VIEW_DIMS VSET
// define HAS_DIMS HAS
// define CLIP_ CLIP
// define SLICE SPAN
// define VDIM VD
// in 0.0 f16 ramp 512 0 1
// out 0.1 f16 gen R x C = EX
// inout 0.2 f16 fill 512 -2
// out 0.2 f16 gen 512 = SX
//
// case transposed: R=8 C=8 VD=2 V=1,0 EX=c*16+r SX=i<128&&i%16<8?i:-2
// case same: R=8 C=8 VD=2 V=0,1 EX=r*16+c SX=i<128&&i%16<8?i:-2
// case clip: R=8 C=8 VD=2 V=0,1 CLIP=1,3,2,4 EX=r>=1&&r<4&&c>=2&&c<6?IX:-1 IX=div((r-1)*4+c-2,8)*16+((r-1)*4+c-2)%8 SX=i<24&&i%16<8&&div(i,16)*8+i%16<12?i:-2
// case clip-all: R=8 C=8 VD=2 V=0,1 CLIP=0,0,0,8 EX=-1 SX=-2
// case clip-beyond: R=8 C=8 VD=2 V=0,1 CLIP=6,100,7,100 EX=r>=6&&c>=7?div((r-6)*8+c-7,8)*16+((r-6)*8+c-7)%8:-1 SX=i==0||i==16?i:-2
// case clip-wraps: R=8 C=8 VD=2 V=0,1 CLIP=1,0xffffffff,0,8 EX=-1 SX=-2
// case one-dimension: R=4 C=4 VD=1 V=0 SPAN=0,8,2,2 HAS=true VSET=8 EX=div((r*4+c)%8,2)*16+c%2+2 SX=i<64&&(i%16==2||i%16==3)?i:-2
// case transposed-own: R=4 C=6 VD=2 V=1,0 HAS=true VSET=6,4 SPAN=1,6,1,4 EX=((r*6+c)%6+1)*16+div(r*6+c,6)+1 SX=i>16&&i<112&&i%16>=1&&i%16<5?i:-2
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(set = 0, binding = 0) readonly buffer I0 { float16_t a[]; };
layout(set = 0, binding = 1) buffer O1 { float16_t loaded[]; };
layout(set = 0, binding = 2) buffer O2 { float16_t stored[]; };

void main()
{
    MATRIX(float16_t, ROWS, COLS, Accumulator) m = MATRIX(float16_t, ROWS, COLS, Accumulator)(-1);
    tensorLayoutNV<2> t = createTensorLayoutNV(2);
    t = setTensorLayoutDimensionNV(t, 16, 16);
    t = sliceTensorLayoutNV(t, SLICE);
    tensorViewNV<VDIM, HAS_DIMS, VIEW> v = createTensorViewNV(VDIM, HAS_DIMS, VIEW);
    if (HAS_DIMS)
        v = setTensorViewDimensionsNV(v, VIEW_DIMS);
    v = setTensorViewClipNV(v, CLIP_);
    coopMatLoadTensorNV(m, a, 0, t, v);
    coopMatStore(m, loaded, 0, COLS, ROW_MAJOR);
    // What is not clipped goes back to where it came from.
    coopMatStoreTensorNV(m, stored, 0, t, v);
}
