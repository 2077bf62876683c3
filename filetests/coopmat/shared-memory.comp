// Matrices in shared memory, of scalars and of vectors, with padding; written by invocations and read as matrices
// and the other way round, behind barriers.
//
// test run
// subgroup 16 32 64
// in 0.0 f16 rand 128 3 -4 4 0.5
// in 0.1 f16 rand 128 4 -4 4 0.5
// out 0.2 f32 gen 64 = sum(k, 16, $0.0[div(i, 8) * 16 + k] * $0.1[k * 8 + i % 8])
// out 0.3 f32 gen 64 = 1 + sum(k, 16, $0.0[i % 8 * 16 + k] * $0.1[k * 8 + div(i, 8)])
#version 460
#include "matrices.glsl"

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer I0 { f16vec2 a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { float16_t b[]; };
layout(set = 0, binding = 2) buffer O2 { float c[]; };
layout(set = 0, binding = 3) buffer O3 { float d[]; };
shared f16vec4 tileA[8 * 5];
shared float16_t tileB[16 * 9];
shared float tileC[8 * 8 + 3];

void main()
{
    uint i = gl_LocalInvocationIndex;
    // Eight rows of 16 with 4 of padding; row-major. Two components an invocation.
    uint row = i / 8, column = i % 8 * 2;
    tileA[row * 5 + column / 4][column % 4] = a[i].x;
    tileA[row * 5 + column / 4][column % 4 + 1] = a[i].y;
    tileB[i / 8 * 9 + i % 8] = b[i];
    tileB[(i / 8 + 8) * 9 + i % 8] = b[i + 64];
    barrier();
    MATRIX(float16_t, 8, 16, A) matA;
    MATRIX(float16_t, 16, 8, B) matB;
    coopMatLoad(matA, tileA, 0, 5, ROW_MAJOR);
    coopMatLoad(matB, tileB, 0, 9, ROW_MAJOR);
    MATRIX(float, 8, 8, Accumulator) sum = coopMatMulAdd(matA, matB, MATRIX(float, 8, 8, Accumulator)(0.0));
    coopMatStore(sum, tileC, 3, 8, COL_MAJOR);
    coopMatStore(sum, c, 0, 8, ROW_MAJOR);
    barrier();
    d[i] = tileC[3 + i] + 1.0;
}
