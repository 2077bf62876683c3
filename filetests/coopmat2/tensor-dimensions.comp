// Layouts of one to five dimensions, with strides of their own, offsets into the buffer, and a span that holds
// fewer or more elements than the matrix.
//
// test run
// subgroup 4 32
// spec 0=R 1=C
// define SET D_SET
// define STRIDE D_STRIDE
// define SLICE D_SLICE
// define DIMS D
// in 0.0 f16 ramp 3000 0 1
// out 0.1 f16 gen R*C = 2 + EX
// out 0.2 f16 gen R*C = EY
//
// case one: R=4 C=5 D=1 D_SET=64 D_SLICE=3,20 D_STRIDE=3 EX=i+3 EY=3*(i+3)
// case one-wraps: R=4 C=5 D=1 D_SET=64 D_SLICE=3,7 D_STRIDE=2 EX=i%7+3 EY=2*(i%7+3)
// case two: R=8 C=8 D=2 D_SET=16,16 D_SLICE=4,8,2,8 D_STRIDE=40,1 EX=(div(i,8)+4)*16+i%8+2 EY=(div(i,8)+4)*40+i%8+2
// case two-flat: R=8 C=8 D=2 D_SET=16,16 D_SLICE=4,4,0,16 D_STRIDE=32,2 EX=(div(i,16)+4)*16+i%16 EY=(div(i,16)+4)*32+2*(i%16)
// case two-column-major: R=5 C=7 D=2 D_SET=9,9 D_SLICE=1,5,2,7 D_STRIDE=1,9 EX=(div(i,7)+1)*9+i%7+2 EY=div(i,7)+1+9*(i%7+2)
// case three: R=6 C=4 D=3 D_SET=4,5,6 D_SLICE=1,2,2,3,2,4 D_STRIDE=100,10,1
//     EX=(div(i,12)+1)*30+(div(i,4)%3+2)*6+i%4+2 EY=(div(i,12)+1)*100+(div(i,4)%3+2)*10+i%4+2
// case four: R=4 C=12 D=4 D_SET=3,4,5,6 D_SLICE=1,2,0,2,1,3,2,4 D_STRIDE=1000,100,10,1
//     EX=(div(i,24)+1)*120+(div(i,12)%2)*30+(div(i,4)%3+1)*6+i%4+2
//     EY=(div(i,24)+1)*1000+(div(i,12)%2)*100+(div(i,4)%3+1)*10+i%4+2
// case five: R=8 C=6 D=5 D_SET=3,2,3,4,5 D_SLICE=1,2,0,2,1,2,0,2,2,3 D_STRIDE=1000,300,90,20,2
//     EX=(div(i,24)+1)*120+(div(i,12)%2)*60+(div(i,6)%2+1)*20+(div(i,3)%2)*5+i%3+2
//     EY=(div(i,24)+1)*1000+(div(i,12)%2)*300+(div(i,6)%2+1)*90+(div(i,3)%2)*20+2*(i%3+2)
// case five-1x1: R=1 C=1 D=5 D_SET=2,2,2,2,2 D_SLICE=1,1,1,1,1,1,1,1,1,1 D_STRIDE=1,1,1,1,1 EX=31 EY=5
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(set = 0, binding = 0) readonly buffer I0 { float16_t a[]; };
layout(set = 0, binding = 1) buffer O1 { float16_t dense[]; };
layout(set = 0, binding = 2) buffer O2 { float16_t strided[]; };

void main()
{
    MATRIX(float16_t, ROWS, COLS, A) m = MATRIX(float16_t, ROWS, COLS, A)(-1);
    tensorLayoutNV<DIMS> t = createTensorLayoutNV(DIMS);
    t = setTensorLayoutDimensionNV(t, SET);
    coopMatLoadTensorNV(m, a, 2, sliceTensorLayoutNV(t, SLICE));
    coopMatStore(m, dense, 0, COLS, ROW_MAJOR);
    t = setTensorLayoutStrideNV(t, STRIDE);
    coopMatLoadTensorNV(m, a, 0, sliceTensorLayoutNV(t, SLICE));
    coopMatStore(m, strided, 0, COLS, ROW_MAJOR);
}
