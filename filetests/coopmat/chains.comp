// Products that depend on each other: the result of one is stored, read as a factor of the next, added to itself, and
// used twice; one accumulator feeds two sums.
//
// test run
// subgroup 4 32
// in 0.0 f16 rand 64 1 -1 1 0.5
// in 0.1 f16 rand 64 2 -1 1 0.5
// inout 0.2 f16 fill 64 0
// out 0.2 f16 gen 8 x 8 = sum(k, 8, $0.0[r * 8 + k] * $0.1[k * 8 + c])
// out 0.3 f16 gen 8 x 8 = sum(j, 8, sum(k, 8, $0.0[r * 8 + k] * $0.1[k * 8 + j]) * $0.1[j * 8 + c])
//     + sum(k, 8, $0.0[r * 8 + k] * $0.1[k * 8 + c])
// out 0.4 f16 gen 8 x 8 = 3 * sum(k, 8, $0.0[r * 8 + k] * $0.1[k * 8 + c])
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer I0 { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { float16_t b[]; };
layout(set = 0, binding = 2) coherent buffer O2 { float16_t product[]; };
layout(set = 0, binding = 3) buffer O3 { float16_t next[]; };
layout(set = 0, binding = 4) buffer O4 { float16_t thrice[]; };

void main()
{
    MATRIX(float16_t, 8, 8, A) matA;
    MATRIX(float16_t, 8, 8, B) matB;
    coopMatLoad(matA, a, 0, 8, ROW_MAJOR);
    coopMatLoad(matB, b, 0, 8, ROW_MAJOR);
    MATRIX(float16_t, 8, 8, Accumulator) one = coopMatMulAdd(matA, matB, MATRIX(float16_t, 8, 8, Accumulator)(0.0hf));
    coopMatStore(one, product, 0, 8, ROW_MAJOR);
    subgroupBarrier();
    MATRIX(float16_t, 8, 8, A) again;
    coopMatLoad(again, product, 0, 8, ROW_MAJOR);
    MATRIX(float16_t, 8, 8, Accumulator) two = coopMatMulAdd(again, matB, one);
    MATRIX(float16_t, 8, 8, Accumulator) three = one + one;
    three = coopMatMulAdd(matA, matB, three);
    coopMatStore(two, next, 0, 8, ROW_MAJOR);
    coopMatStore(three, thrice, 0, 8, ROW_MAJOR);
}
