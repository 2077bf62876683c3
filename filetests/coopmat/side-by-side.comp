// Sums of a subgroup that lie side by side, as do their factors in shared memory: at a distance that is known, at one that is
// not, with the end of the buffer between them, and with something else done to one of them.
//
// test run
// target interp passes cpu lowered
// subgroup 16 32
// push u32 [40 3]
// in 0.0 f16 gen 256 = i * 7 % 13 - 6
// in 0.1 f16 gen 512 = i * 5 % 11 - 5
// in 0.2 f32 gen 512 = i * 3 % 17 - 8
// out 0.3 f32 gen 16 x 32 = 0 - 3 * (sum(k, 16, $0.0[r * 16 + k] * $0.1[k * 32 + c]) + $0.2[r * 32 + c])
// inout 0.4 f32 fill 620 7
// out 0.4 f32 gen 620 = i % 40 >= 32 ? 7 : sum(k, 16, $0.0[div(i, 40) * 16 + k] * $0.1[k * 32 + i % 40])
// in 0.5 i8 gen 512 = i * 37 % 251 - 125
// out 0.6 i32 gen 16 x 32 = 2 * sum(k, 16, $0.5[r * 16 + k] * $0.5[c * 16 + k])
// out 0.7 f32 gen 16 x 32 = (r < 8 && c < 8 ? 2 : 1) * sum(k, 16, $0.0[r * 16 + k] * $0.1[k * 32 + c])
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint stride; uint times; };
layout(set = 0, binding = 0) readonly buffer InA { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer InB { float16_t b[]; };
layout(set = 0, binding = 2) readonly buffer InC { float start[]; };
layout(set = 0, binding = 3) buffer Known { float known[]; };
layout(set = 0, binding = 4) buffer Unknown { float unknown[]; };
layout(set = 0, binding = 5) readonly buffer InBytes { int8_t bytes[]; };
layout(set = 0, binding = 6) buffer Columns { int columns[]; };
layout(set = 0, binding = 7) buffer One { float one[]; };
shared float16_t sharedA[16 * 24];
shared float16_t sharedB[16 * 40];
shared int8_t sharedBytes[32 * 20];

#define EACH for (uint i = 0; i < 2; ++i) for (uint j = 0; j < 4; ++j)
#define START(T) MATRIX(T, 8, 8, Accumulator) sum[2][4]; EACH sum[i][j] = MATRIX(T, 8, 8, Accumulator)(T(0))
// In rounds of 8 along K.
#define MULTIPLY for (uint k = 0; k < 16; k += 8) { \
        MATRIX(float16_t, 8, 8, A) matA[2]; \
        for (uint i = 0; i < 2; ++i) coopMatLoad(matA[i], sharedA, 24 * 8 * i + k, 24, ROW_MAJOR); \
        for (uint j = 0; j < 4; ++j) { \
            MATRIX(float16_t, 8, 8, B) matB; \
            coopMatLoad(matB, sharedB, 40 * k + 8 * j, 40, ROW_MAJOR); \
            for (uint i = 0; i < 2; ++i) sum[i][j] = coopMatMulAdd(matA[i], matB, sum[i][j]); \
        } \
    }

void main()
{
    for (uint n = gl_LocalInvocationIndex; n < 512; n += 32) {
        if (n < 256)
            sharedA[n / 16 * 24 + n % 16] = a[n];
        sharedB[n / 32 * 40 + n % 32] = b[n];
        sharedBytes[n / 16 * 20 + n % 16] = bytes[n];
    }
    barrier();
    if (gl_SubgroupID != 0)
        return;
    {
        START(float);
        EACH coopMatLoad(sum[i][j], start, 32 * 8 * i + 8 * j, 32, ROW_MAJOR);
        MULTIPLY
        EACH sum[i][j] = -(sum[i][j] * float(times));
        EACH coopMatStore(sum[i][j], known, 32 * 8 * i + 8 * j, 32, ROW_MAJOR);
    }
    {
        START(float);
        MULTIPLY
        EACH coopMatStore(sum[i][j], unknown, stride * 8 * i + 8 * j, stride, ROW_MAJOR);
    }
    {
        START(int);
        for (uint twice = 0; twice < 2; ++twice) {
            for (uint i = 0; i < 2; ++i) {
                // Loaded anew for each sum.
                for (uint j = 0; j < 4; ++j) {
                    MATRIX(int8_t, 8, 16, A) matA;
                    MATRIX(int8_t, 16, 8, B) matB;
                    coopMatLoad(matA, sharedBytes, 20 * 8 * i, 20, ROW_MAJOR);
                    coopMatLoad(matB, sharedBytes, 20 * 8 * j, 20, COL_MAJOR);
                    sum[i][j] = coopMatMulAdd(matA, matB, sum[i][j]);
                }
            }
        }
        EACH coopMatStore(sum[i][j], columns, 32 * 8 * i + 8 * j, 32, ROW_MAJOR);
    }
    {
        START(float);
        MULTIPLY
        sum[0][0] = sum[0][0] + sum[0][0];
        EACH coopMatStore(sum[i][j], one, 32 * 8 * i + 8 * j, 32, ROW_MAJOR);
    }
}
