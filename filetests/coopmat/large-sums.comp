// Sums that are larger than a first cache, in loops of 0 to 6 rounds: multiply-adds of several rounds may be done together,
// and what is left over after the loop. Two sums share a factor; the work-groups differ in the number of rounds.
//
// test run
// dispatch 7 1 1
// subgroup 32
// isa all
// in 0.0 f16 gen 96 = i + 1
// in 0.1 f16 gen 128 = i % 16 - 8
// out 0.2 f32 gen 14 x 128 = (c % 16 - 8) * 4 * (r - r % 2) * (8 * (r - r % 2) + 1) + (r % 2 ? c % 16 - 8 : 1)
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;

layout(set = 0, binding = 0) readonly buffer A { float16_t x[]; } a;
layout(set = 0, binding = 1) readonly buffer B { float16_t x[]; } b;
layout(set = 0, binding = 2) buffer C { float x[]; } c;

void main()
{
    // All rows are the same: the stride is 0.
    MATRIX(float, 64, 128, Accumulator) sums[2];
    MATRIX(float16_t, 16, 128, B) matB;
    sums[0] = MATRIX(float, 64, 128, Accumulator)(1.0);
    MATRIX(float16_t, 64, 128, Accumulator) start;
    coopMatLoad(start, b.x, 0, 0, ROW_MAJOR);
    sums[1] = MATRIX(float, 64, 128, Accumulator)(start);
    for (uint k = 0; k < gl_WorkGroupID.x; k++) {
        MATRIX(float16_t, 64, 16, A) matA;
        coopMatLoad(matA, a.x, 16 * k, 0, ROW_MAJOR);
        coopMatLoad(matB, b.x, 0, 0, ROW_MAJOR);
        sums[0] = coopMatMulAdd(matA, matB, sums[0]);
        sums[1] = coopMatMulAdd(matA, matB, sums[1]);
    }
    for (uint i = 0; i < 2; i++)
        coopMatStore(sums[i], c.x, 256 * gl_WorkGroupID.x + 128 * i, 0, ROW_MAJOR);
}
