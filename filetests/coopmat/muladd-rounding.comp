// Numbers for which sums are not exact: the bounds allow for the rounding of so many additions, one after the other, in
// the type of the result.
//
// test run
// isa all
// subgroup 32
// spec 0=M 1=N 2=K
// define A_TYPE GA
// define C_TYPE GC
// in 0.0 TA rand M*K 1 -1 1
// in 0.1 TA rand K*N 2 -1 1
// in 0.2 TC rand M*N 3 -1 1
// tolerance TOL abs TOL rel
// out 0.3 TC gen M x N = $0.2[i] + sum(k, K, $0.0[r * K + k] * $0.1[k * N + c])
// case f16-f32: TA=f16 GA=float16_t TC=f32 GC=float M=16 N=16 K=64 TOL=1e-5
// case f16-f16: TA=f16 GA=float16_t TC=f16 GC=float16_t M=16 N=16 K=32 TOL=4e-3
// case bf16-f32: TA=bf16 GA=bfloat16_t TC=f32 GC=float M=16 N=32 K=64 TOL=1e-5
// case bf16-bf16: TA=bf16 GA=bfloat16_t TC=bf16 GC=bfloat16_t M=8 N=8 K=16 TOL=1e-1
// case f32-f32: TA=f32 GA=float TC=f32 GC=float M=17 N=13 K=40 TOL=1e-5
// case e4m3-f32: TA=e4m3 GA=floate4m3_t TC=f32 GC=float M=16 N=16 K=32 TOL=1e-5
// case e5m2-f16: TA=e5m2 GA=floate5m2_t TC=f16 GC=float16_t M=16 N=16 K=32 TOL=4e-3
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint M = 1;
layout(constant_id = 1) const uint N = 1;
layout(constant_id = 2) const uint K = 1;
layout(set = 0, binding = 0) readonly buffer InA { A_TYPE a[]; };
layout(set = 0, binding = 1) readonly buffer InB { A_TYPE b[]; };
layout(set = 0, binding = 2) readonly buffer InC { C_TYPE c[]; };
layout(set = 0, binding = 3) writeonly buffer OutD { C_TYPE d[]; };

void main()
{
    MATRIX(A_TYPE, M, K, A) matA;
    MATRIX(A_TYPE, K, N, B) matB;
    MATRIX(C_TYPE, M, N, Accumulator) matC;
    coopMatLoad(matA, a, 0, K, ROW_MAJOR);
    coopMatLoad(matB, b, 0, N, ROW_MAJOR);
    coopMatLoad(matC, c, 0, N, ROW_MAJOR);
    coopMatStore(coopMatMulAdd(matA, matB, matC), d, 0, N, ROW_MAJOR);
}
