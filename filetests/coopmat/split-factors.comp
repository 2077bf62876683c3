// Factors of f16 with all their digits, staged for large products of several subgroups: matrix registers of x86 multiply such
// as sums of two bf16, which are made once for all subgroups.
//
// test run
// target interp cpu
// subgroup 16 32
// in 0.0 f16 gen 8192 = i * 37 % 6 == 0 ? i * 29 % 2048 : 0
// in 0.1 f16 gen 8192 = i * 31 % 5 == 0 ? 255 - i * 23 % 511 : 0
// out 0.2 f32 gen 128 x 128 = sum(k, 64, $0.0[r * 64 + k] * $0.1[k * 128 + c])
#version 460
#include "matrices.glsl"

// Four subgroups of 16 or two of 32, which have two parts of 64 columns each of 128 rows, or four of 64 rows.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer InA { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer InB { float16_t b[]; };
layout(set = 0, binding = 2) buffer Result { float result[]; };
// 32 of K, in padded rows.
shared float16_t sharedA[128 * 40];
shared float16_t sharedB[32 * 136];

#define EACH for (uint i = 0; i < 4; ++i) for (uint j = 0; j < 4; ++j)

void main()
{
    for (uint part = 0; part < 4; part += gl_NumSubgroups) {
        const uint row = (part + gl_SubgroupID) / 2 * 64, column = (part + gl_SubgroupID) % 2 * 64;
        MATRIX(float, 16, 16, Accumulator) sum[4][4];
        EACH sum[i][j] = MATRIX(float, 16, 16, Accumulator)(0.0);
        for (uint k = 0; k < 64; k += 32) {
            barrier();
            for (uint n = gl_LocalInvocationIndex; n < 4096; n += 64) {
                sharedA[n / 32 * 40 + n % 32] = a[n / 32 * 64 + k + n % 32];
                sharedB[n / 128 * 136 + n % 128] = b[(k + n / 128) * 128 + n % 128];
            }
            barrier();
            for (uint l = 0; l < 32; l += 16) {
                MATRIX(float16_t, 16, 16, A) matA[4];
                for (uint i = 0; i < 4; ++i) coopMatLoad(matA[i], sharedA, 40 * (row + 16 * i) + l, 40, ROW_MAJOR);
                for (uint j = 0; j < 4; ++j) {
                    MATRIX(float16_t, 16, 16, B) matB;
                    coopMatLoad(matB, sharedB, 136 * l + column + 16 * j, 136, ROW_MAJOR);
                    for (uint i = 0; i < 4; ++i) sum[i][j] = coopMatMulAdd(matA[i], matB, sum[i][j]);
                }
            }
        }
        EACH coopMatStore(sum[i][j], result, 128 * (row + 16 * i) + column + 16 * j, 128, ROW_MAJOR);
    }
}
