// Infinities, NaNs, denormals and the greatest numbers of f16, and of f32 as accumulator, in products.
//
// test run
// isa all
// in 0.0 f16 [inf 0 0 0  nan 0 0 0  65504 65504 0 0  0x0001 0 0 0]
// in 0.1 f16 [1 0 0 2  0 1 0 0  0 0 1 0  0 0 0 1]
// in 0.2 f32 [0*16]
// out 0.3 f32 [inf nan nan inf  nan nan nan nan  65504 65504 0 131008  5.9604645e-8 0 0 1.1920929e-7]
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer InA { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer InB { float16_t b[]; };
layout(set = 0, binding = 2) readonly buffer InC { float c[]; };
layout(set = 0, binding = 3) writeonly buffer OutD { float d[]; };

void main()
{
    MATRIX(float16_t, 4, 4, A) matA;
    MATRIX(float16_t, 4, 4, B) matB;
    MATRIX(float, 4, 4, Accumulator) matC;
    coopMatLoad(matA, a, 0, 4, ROW_MAJOR);
    coopMatLoad(matB, b, 0, 4, ROW_MAJOR);
    coopMatLoad(matC, c, 0, 4, ROW_MAJOR);
    coopMatStore(coopMatMulAdd(matA, matB, matC), d, 0, 4, ROW_MAJOR);
}
