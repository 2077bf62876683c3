// Block sizes without a function that decodes: all elements of a block are the one in memory. Strides count blocks.
//
// test run
// subgroup 4 32
// spec 0=H 1=W 2=BH 3=BW
// in 0.0 u16 ramp 256 0 1
// out 0.1 u16 gen 8 x 12 = r+1<H&&c+2<W?div(r+1,BH)*div(W+BW-1,BW)+div(c+2,BW):77
// out 0.2 u16 gen 8 x 12 = r+1<H&&c+2<W?div(r+1,BH)*20+div(c+2,BW):77
//
// case one: H=16 W=16 BH=1 BW=1
// case rows: H=16 W=16 BH=4 BW=1
// case columns: H=16 W=16 BH=1 BW=8
// case squares: H=16 W=16 BH=2 BW=2
// case odd: H=7 W=11 BH=3 BW=5
// case larger-than-the-tensor: H=6 W=9 BH=32 BW=32
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint HEIGHT = 1;
layout(constant_id = 1) const uint WIDTH = 1;
layout(constant_id = 2) const uint BLOCK_ROWS = 1;
layout(constant_id = 3) const uint BLOCK_COLS = 1;
layout(set = 0, binding = 0) readonly buffer I0 { uint16_t a[]; };
layout(set = 0, binding = 1) buffer O1 { uint16_t dense[]; };
layout(set = 0, binding = 2) buffer O2 { uint16_t strided[]; };

void main()
{
    MATRIX(uint16_t, 8, 12, B) m = MATRIX(uint16_t, 8, 12, B)(0);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> t = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    t = setTensorLayoutClampValueNV(t, 77);
    t = setTensorLayoutBlockSizeNV(t, BLOCK_ROWS, BLOCK_COLS);
    t = setTensorLayoutDimensionNV(t, HEIGHT, WIDTH);
    coopMatLoadTensorNV(m, a, 0, sliceTensorLayoutNV(t, 1, 8, 2, 12));
    coopMatStore(m, dense, 0, 12, ROW_MAJOR);
    t = setTensorLayoutStrideNV(t, 20, 1);
    coopMatLoadTensorNV(m, a, 0, sliceTensorLayoutNV(t, 1, 8, 2, 12));
    coopMatStore(m, strided, 0, 12, ROW_MAJOR);
}
