// Shapes by expressions of specialisation constants, arrays of matrices whose lengths are, lengths of matrices as
// loop bounds.
//
// test run
// spec 0=N
// in 0.0 i8 rand 4*N*N 1 -50 50
// in 0.1 i8 rand 4*N*N 2 -50 50
// out 0.2 i32 gen N*2 x N*2 = sum(k, N * 2, $0.0[r * N * 2 + k] * $0.1[k * N * 2 + c]) + 1
// case 1: N=1
// case 3: N=3
// case 8: N=8
// subgroup 8
// case 16: N=16
// subgroup 4 32
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint N = 4;
const uint TWICE = N * 2;
layout(set = 0, binding = 0) readonly buffer InA { int8_t a[]; };
layout(set = 0, binding = 1) readonly buffer InB { int8_t b[]; };
layout(set = 0, binding = 2) buffer OutC { int c[]; };

void main()
{
    MATRIX(int8_t, TWICE, N, A) matA[TWICE / N];
    MATRIX(int8_t, N, TWICE, B) matB[TWICE / N];
    for (uint i = 0; i < TWICE / N; ++i) {
        coopMatLoad(matA[i], a, i * N, TWICE, ROW_MAJOR);
        coopMatLoad(matB[i], b, i * N * TWICE, TWICE, ROW_MAJOR);
    }
    MATRIX(int, TWICE, TWICE, Accumulator) sum = MATRIX(int, TWICE, TWICE, Accumulator)(0);
    for (uint i = 0; i < TWICE / N; ++i)
        sum = coopMatMulAdd(matA[i], matB[i], sum);
    for (uint i = 0; i < sum.length(); ++i)
        sum[i] += 1;
    coopMatStore(sum, c, 0, TWICE, ROW_MAJOR);
}
