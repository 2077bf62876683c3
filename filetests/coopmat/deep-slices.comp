// Products of a block in shared memory in slices as thin as matrices are: of floats with B by rows and by columns, of
// bytes, with sums of f16, with a slice that overlaps the one before, which are not one deeper matrix, and with sums that
// are stored in between.
//
// test run
// target interp passes cpu lowered
// subgroup 16 32
// in 0.0 f16 gen 512 = i * 7 % 13 - 6
// in 0.1 f16 gen 512 = i * 5 % 11 - 5
// in 0.2 i8 gen 512 = i * 37 % 251 - 125
// out 0.3 f32 gen 16 x 16 = sum(k, 32, $0.0[r * 32 + k] * $0.1[k * 16 + c])
// out 0.4 f32 gen 16 x 16 = sum(k, 32, $0.0[r * 32 + k] * $0.1[c * 32 + k])
// out 0.5 i32 gen 16 x 16 = sum(k, 32, $0.2[r * 32 + k] * $0.2[c * 32 + k])
// out 0.6 f32 gen 16 x 16 = sum(k, 24, $0.0[r * 32 + div(k, 8) * 4 + k % 8] * $0.1[k * 16 + c])
// out 0.7 f32 gen 16 x 16 = sum(k, 16, $0.0[r * 32 + k] * $0.1[k * 16 + c])
// out 0.8 f16 gen 16 x 16 = sum(k, 32, $0.0[r * 32 + k] * $0.1[c * 32 + k])
#version 460
#include "matrices.glsl"

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer InA { f16vec4 a[]; };
layout(set = 0, binding = 1) readonly buffer InB { f16vec4 b[]; };
layout(set = 0, binding = 2) readonly buffer InBytes { i8vec4 bytes[]; };
layout(set = 0, binding = 3) buffer Rows { float rows[]; };
layout(set = 0, binding = 4) buffer Columns { float columns[]; };
layout(set = 0, binding = 5) buffer Bytes { int sums[]; };
layout(set = 0, binding = 6) buffer Overlapping { float overlapping[]; };
layout(set = 0, binding = 7) buffer Halves { float halves[]; };
layout(set = 0, binding = 8) buffer Narrow { float16_t narrow[]; };
// Rows are padded: of 32 elements each, and of 16 in the third block.
shared f16vec4 sharedA[16 * 9];
shared f16vec4 sharedColumns[16 * 9];
shared f16vec4 sharedRows[32 * 5];
shared i8vec4 sharedBytes[16 * 9];

#define SUMS(T) MATRIX(T, 8, 8, Accumulator) sum[2][2]; \
    for (uint i = 0; i < 2; ++i) for (uint j = 0; j < 2; ++j) sum[i][j] = MATRIX(T, 8, 8, Accumulator)(T(0))
#define STORE(to) for (uint i = 0; i < 2; ++i) for (uint j = 0; j < 2; ++j) \
    coopMatStore(sum[i][j], to, 16 * 8 * i + 8 * j, 16, ROW_MAJOR)
#define MULTIPLY(T, SHARED_A, START_A, SHARED_B, START_B, STRIDE_B, LAYOUT_B) \
    MATRIX(T, 8, 8, A) matA[2]; \
    for (uint i = 0; i < 2; ++i) coopMatLoad(matA[i], SHARED_A, START_A, 9, ROW_MAJOR); \
    for (uint j = 0; j < 2; ++j) { \
        MATRIX(T, 8, 8, B) matB; \
        coopMatLoad(matB, SHARED_B, START_B, STRIDE_B, LAYOUT_B); \
        for (uint i = 0; i < 2; ++i) sum[i][j] = coopMatMulAdd(matA[i], matB, sum[i][j]); \
    }

void main()
{
    uint l = gl_LocalInvocationIndex;
    for (uint n = l; n < 128; n += 64) {
        sharedA[n / 8 * 9 + n % 8] = a[n];
        sharedColumns[n / 8 * 9 + n % 8] = b[n];
        sharedRows[n / 4 * 5 + n % 4] = b[n];
        sharedBytes[n / 8 * 9 + n % 8] = bytes[n];
    }
    barrier();
    if (gl_SubgroupID == 0) {
        SUMS(float);
        for (uint k = 0; k < 32; k += 8) {
            MULTIPLY(float16_t, sharedA, 9 * 8 * i + k / 4, sharedRows, 5 * k + 2 * j, 5, ROW_MAJOR)
        }
        STORE(rows);
    }
    if (gl_SubgroupID == gl_NumSubgroups - 1) {
        SUMS(float);
        for (uint k = 0; k < 32; k += 8) {
            MULTIPLY(float16_t, sharedA, 9 * 8 * i + k / 4, sharedColumns, 9 * 8 * j + k / 4, 9, COL_MAJOR)
        }
        STORE(columns);
    }
    {
        SUMS(float16_t);
        for (uint k = 0; k < 32; k += 8) {
            MULTIPLY(float16_t, sharedA, 9 * 8 * i + k / 4, sharedColumns, 9 * 8 * j + k / 4, 9, COL_MAJOR)
        }
        if (gl_SubgroupID == 0)
            STORE(narrow);
    }
    {
        SUMS(int);
        for (int k = 0; k < 32; k += 8) {
            MULTIPLY(int8_t, sharedBytes, 9 * 8 * i + k / 4, sharedBytes, 9 * 8 * j + k / 4, 9, COL_MAJOR)
        }
        if (gl_SubgroupID == 0)
            STORE(sums);
    }
    {
        SUMS(float);
        for (uint k = 0; k < 24; k += 8) {
            MULTIPLY(float16_t, sharedA, 9 * 8 * i + k / 8, sharedRows, 5 * k + 2 * j, 5, ROW_MAJOR)
        }
        if (gl_SubgroupID == 0)
            STORE(overlapping);
    }
    {
        SUMS(float);
        for (uint k = 0; k < 32; k += 8) {
            MULTIPLY(float16_t, sharedA, 9 * 8 * i + k / 4, sharedRows, 5 * k + 2 * j, 5, ROW_MAJOR)
            if (k == 8 && gl_SubgroupID == 0)
                STORE(halves);
        }
    }
}
