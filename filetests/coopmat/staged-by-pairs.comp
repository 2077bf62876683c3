// Blocks that are copied to shared memory by eight numbers, which are converted and stored by pairs, and products that
// load each factor anew, with sums that are rounded in each slice; and the same with a row stored in between, so that a
// factor is another one when it is loaded again.
//
// test run
// target interp passes cpu lowered
// subgroup 16 32
// in 0.0 f16 gen 1024 = i * 7 % 13 - 6
// in 0.1 f32 gen 1024 = i * 5 % 11 - 5
// out 0.2 f32 gen 32 x 32 = sum(k, 32, $0.0[r * 32 + k] * $0.1[c * 32 + k])
// out 0.3 f32 gen 16 x 16 = sum(k, 16, $0.0[r * 32 + k] * $0.1[c * 32 + k]) * 2 + sum(k, 16, $0.1[c * 32 + k])
#version 460
#include "matrices.glsl"

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer InA { f16mat2x4 a[]; };
layout(set = 0, binding = 1) readonly buffer InB { mat2x4 b[]; };
layout(set = 0, binding = 2) buffer Sums { float sums[]; };
layout(set = 0, binding = 3) buffer Again { float again[]; };
// Rows of 32, padded.
shared f16vec2 sharedA[32 * 20];
shared f16vec2 sharedB[32 * 20];

void main()
{
    uint l = gl_LocalInvocationIndex;
    for (uint n = l; n < 128; n += 64) {
        uint at = n / 4 * 20 + n % 4 * 8 / 2;
        f16mat2x4 left = f16mat2x4(a[n]);
        sharedA[at + 0] = left[0].xy;
        sharedA[at + 1] = left[0].zw;
        sharedA[at + 2] = left[1].xy;
        sharedA[at + 3] = left[1].zw;
        f16mat2x4 right = f16mat2x4(b[n]);
        sharedB[at + 0] = right[0].xy;
        sharedB[at + 1] = right[0].zw;
        sharedB[at + 2] = right[1].xy;
        sharedB[at + 3] = right[1].zw;
    }
    barrier();
    if (gl_SubgroupID == 0) {
        MATRIX(float16_t, 16, 16, A) matA;
        MATRIX(float16_t, 16, 16, B) matB;
        MATRIX(float16_t, 16, 16, Accumulator) sum[4];
        for (uint i = 0; i < 4; ++i) sum[i] = MATRIX(float16_t, 16, 16, Accumulator)(0.0hf);
        for (uint k = 0; k < 32; k += 16) {
            for (uint i = 0; i < 2; ++i) {
                coopMatLoad(matA, sharedA, 16 * 20 * i + k / 2, 20, ROW_MAJOR);
                for (uint j = 0; j < 2; ++j) {
                    coopMatLoad(matB, sharedB, 16 * 20 * j + k / 2, 20, COL_MAJOR);
                    sum[2 * i + j] = coopMatMulAdd(matA, matB, sum[2 * i + j]);
                }
            }
        }
        for (uint i = 0; i < 4; ++i) {
            MATRIX(float, 16, 16, Accumulator) wide = MATRIX(float, 16, 16, Accumulator)(sum[i]);
            coopMatStore(wide, sums, 512 * (i / 2) + 16 * (i % 2), 32, ROW_MAJOR);
        }
    }
    barrier();
    if (gl_SubgroupID == 0) {
        MATRIX(float16_t, 16, 16, A) matA;
        MATRIX(float16_t, 16, 16, B) matB;
        MATRIX(float, 16, 16, Accumulator) sum = MATRIX(float, 16, 16, Accumulator)(0.0);
        coopMatLoad(matA, sharedA, 0, 20, ROW_MAJOR);
        coopMatLoad(matB, sharedB, 0, 20, COL_MAJOR);
        sum = coopMatMulAdd(matA, matB, sum);
        subgroupMemoryBarrier();
        subgroupBarrier();
        // One more in each element of A.
        for (uint n = gl_SubgroupInvocationID; n < 128; n += gl_SubgroupSize)
            sharedA[n / 8 * 20 + n % 8] += f16vec2(1.0hf);
        subgroupMemoryBarrier();
        subgroupBarrier();
        coopMatLoad(matA, sharedA, 0, 20, ROW_MAJOR);
        coopMatLoad(matB, sharedB, 0, 20, COL_MAJOR);
        sum = coopMatMulAdd(matA, matB, sum);
        coopMatStore(sum, again, 0, 16, ROW_MAJOR);
    }
}
