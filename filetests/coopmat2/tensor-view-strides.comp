// Views of one to five dimensions with strides of their own: 0 repeats elements, others leave some out or overlap, and
// what the strides lead to beyond the span starts again at its beginning.
//
// test run
// subgroup 4 32
// define VIEW V
// define VIEW_SET VSET
// define VIEW_STRIDE VSTRIDE
// define VDIM VD
// in 0.0 i32 ramp 256 0 1
// out 0.1 i32 gen 4 x 6 = and(EX, 255)
// inout 0.2 i32 fill 256 -2
// out 0.2 i32 gen 256 = SX
//
// case one: VD=1 V=0 VSET=24 VSTRIDE=3 EX=3*i SX=i<72&&i%3==0?i:-2
// case one-repeats: VD=1 V=0 VSET=24 VSTRIDE=0 EX=0 SX=i==0?0:-2
// case rows-repeat: VD=2 V=0,1 VSET=4,6 VSTRIDE=0,1 EX=c SX=i<6?i:-2
// case overlapping: VD=2 V=0,1 VSET=4,6 VSTRIDE=2,1 EX=2*r+c SX=i<12?i:-2
// case transposed: VD=2 V=1,0 VSET=6,4 VSTRIDE=10,1 EX=10*(i%6)+div(i,6) SX=i<60&&i%10<4?i:-2
// case three: VD=3 V=2,0,1 VSET=3,2,4 VSTRIDE=16,5,1 EX=div(i,6)+16*(div(i,2)%3)+5*(i%2)
//     SX=i<48&&(i%16<4||i%16>=5&&i%16<9)?i:-2
// case five: VD=5 V=4,3,2,1,0 VSET=2,3,1,2,2 VSTRIDE=1,2,99,6,12 EX=12*div(i,12)+6*(div(i,6)%2)+2*(div(i,2)%3)+i%2
//     SX=i<24?i:-2
// case wraps: VD=2 V=0,1 VSET=4,6 VSTRIDE=128,1 EX=128*r+c SX=i<6||i>=128&&i<134?i:-2
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer I0 { int a[]; };
layout(set = 0, binding = 1) buffer O1 { int loaded[]; };
layout(set = 0, binding = 2) buffer O2 { int stored[]; };

void main()
{
    MATRIX(int, 4, 6, B) m = MATRIX(int, 4, 6, B)(-1);
    tensorLayoutNV<1> t = createTensorLayoutNV(1);
    t = setTensorLayoutDimensionNV(t, 256);
    tensorViewNV<VDIM, true, VIEW> v = createTensorViewNV(VDIM, true, VIEW);
    v = setTensorViewDimensionsNV(v, VIEW_SET);
    v = setTensorViewStrideNV(v, VIEW_STRIDE);
    coopMatLoadTensorNV(m, a, 0, t, v);
    coopMatStore(m, loaded, 0, 6, ROW_MAJOR);
    // What goes to one place is what was there.
    coopMatStoreTensorNV(m, stored, 0, t, v);
}
