// Row- and column-major matrices in every combination, with strides that are longer than a row.
//
// The expected value is the sum that defines it. LA, LB and LC are 1 where a matrix is column-major. D has the layout
// and stride of C, and is not written outside of the matrix.
//
// test run
// keys LA=0 LB=0 LC=0 SA=K SB=N SC=N TB=TA GB=GA
// spec 0=M 1=N 2=K 3=LA 4=LB 5=LC 6=SA 7=SB 8=SC
// define A_TYPE GA
// define B_TYPE GB
// define C_TYPE GC
// in 0.0 TA rand LA==0?M*SA:K*SA 1 -1 1 0.5
// in 0.1 TB rand LB==0?K*SB:N*SB 2 -1 1 0.5
// in 0.2 TC rand LC==0?M*SC:N*SC 3 -1 1 0.5
// inout 0.3 TC fill LC==0?M*SC:N*SC 99
// tolerance exact
// out 0.3 TC gen (LC==0?M:N) x SC = c >= (LC==0?N:M) ? 99 : $0.2[i] + sum(k, K,
//     $0.0[LA == 0 ? (LC == 0 ? r : c) * SA + k : k * SA + (LC == 0 ? r : c)] *
//     $0.1[LB == 0 ? k * SB + (LC == 0 ? c : r) : (LC == 0 ? c : r) * SB + k])
//
// case f16-000: M=13 N=18 K=7 LA=0 LB=0 LC=0 SA=10 SB=20 SC=19 TA=f16 GA=float16_t TC=f32 GC=float
// case i8-000: M=13 N=18 K=7 LA=0 LB=0 LC=0 SA=10 SB=20 SC=19 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case bf16-000: M=13 N=18 K=7 LA=0 LB=0 LC=0 SA=10 SB=20 SC=19 TA=bf16 GA=bfloat16_t TC=f32 GC=float
// case f32-000: M=13 N=18 K=7 LA=0 LB=0 LC=0 SA=10 SB=20 SC=19 TA=f32 GA=float TC=f32 GC=float
// case f16-001: M=13 N=18 K=7 LA=0 LB=0 LC=1 SA=10 SB=20 SC=14 TA=f16 GA=float16_t TC=f32 GC=float
// case i8-001: M=13 N=18 K=7 LA=0 LB=0 LC=1 SA=10 SB=20 SC=14 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case bf16-001: M=13 N=18 K=7 LA=0 LB=0 LC=1 SA=10 SB=20 SC=14 TA=bf16 GA=bfloat16_t TC=f32 GC=float
// case f32-001: M=13 N=18 K=7 LA=0 LB=0 LC=1 SA=10 SB=20 SC=14 TA=f32 GA=float TC=f32 GC=float
// case f16-010: M=13 N=18 K=7 LA=0 LB=1 LC=0 SA=10 SB=9 SC=19 TA=f16 GA=float16_t TC=f32 GC=float
// case i8-010: M=13 N=18 K=7 LA=0 LB=1 LC=0 SA=10 SB=9 SC=19 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case bf16-010: M=13 N=18 K=7 LA=0 LB=1 LC=0 SA=10 SB=9 SC=19 TA=bf16 GA=bfloat16_t TC=f32 GC=float
// case f32-010: M=13 N=18 K=7 LA=0 LB=1 LC=0 SA=10 SB=9 SC=19 TA=f32 GA=float TC=f32 GC=float
// case f16-011: M=13 N=18 K=7 LA=0 LB=1 LC=1 SA=10 SB=9 SC=14 TA=f16 GA=float16_t TC=f32 GC=float
// case i8-011: M=13 N=18 K=7 LA=0 LB=1 LC=1 SA=10 SB=9 SC=14 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case bf16-011: M=13 N=18 K=7 LA=0 LB=1 LC=1 SA=10 SB=9 SC=14 TA=bf16 GA=bfloat16_t TC=f32 GC=float
// case f32-011: M=13 N=18 K=7 LA=0 LB=1 LC=1 SA=10 SB=9 SC=14 TA=f32 GA=float TC=f32 GC=float
// case f16-100: M=13 N=18 K=7 LA=1 LB=0 LC=0 SA=16 SB=20 SC=19 TA=f16 GA=float16_t TC=f32 GC=float
// case i8-100: M=13 N=18 K=7 LA=1 LB=0 LC=0 SA=16 SB=20 SC=19 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case bf16-100: M=13 N=18 K=7 LA=1 LB=0 LC=0 SA=16 SB=20 SC=19 TA=bf16 GA=bfloat16_t TC=f32 GC=float
// case f32-100: M=13 N=18 K=7 LA=1 LB=0 LC=0 SA=16 SB=20 SC=19 TA=f32 GA=float TC=f32 GC=float
// case f16-101: M=13 N=18 K=7 LA=1 LB=0 LC=1 SA=16 SB=20 SC=14 TA=f16 GA=float16_t TC=f32 GC=float
// case i8-101: M=13 N=18 K=7 LA=1 LB=0 LC=1 SA=16 SB=20 SC=14 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case bf16-101: M=13 N=18 K=7 LA=1 LB=0 LC=1 SA=16 SB=20 SC=14 TA=bf16 GA=bfloat16_t TC=f32 GC=float
// case f32-101: M=13 N=18 K=7 LA=1 LB=0 LC=1 SA=16 SB=20 SC=14 TA=f32 GA=float TC=f32 GC=float
// case f16-110: M=13 N=18 K=7 LA=1 LB=1 LC=0 SA=16 SB=9 SC=19 TA=f16 GA=float16_t TC=f32 GC=float
// case i8-110: M=13 N=18 K=7 LA=1 LB=1 LC=0 SA=16 SB=9 SC=19 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case bf16-110: M=13 N=18 K=7 LA=1 LB=1 LC=0 SA=16 SB=9 SC=19 TA=bf16 GA=bfloat16_t TC=f32 GC=float
// case f32-110: M=13 N=18 K=7 LA=1 LB=1 LC=0 SA=16 SB=9 SC=19 TA=f32 GA=float TC=f32 GC=float
// case f16-111: M=13 N=18 K=7 LA=1 LB=1 LC=1 SA=16 SB=9 SC=14 TA=f16 GA=float16_t TC=f32 GC=float
// case i8-111: M=13 N=18 K=7 LA=1 LB=1 LC=1 SA=16 SB=9 SC=14 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case bf16-111: M=13 N=18 K=7 LA=1 LB=1 LC=1 SA=16 SB=9 SC=14 TA=bf16 GA=bfloat16_t TC=f32 GC=float
// case f32-111: M=13 N=18 K=7 LA=1 LB=1 LC=1 SA=16 SB=9 SC=14 TA=f32 GA=float TC=f32 GC=float
// case 16-000: M=16 N=32 K=8 LA=0 LB=0 LC=0 SA=8 SB=32 SC=32 TA=f16 GA=float16_t TC=f32 GC=float
// case 16-001: M=16 N=32 K=8 LA=0 LB=0 LC=1 SA=8 SB=32 SC=16 TA=f16 GA=float16_t TC=f32 GC=float
// case 16-010: M=16 N=32 K=8 LA=0 LB=1 LC=0 SA=8 SB=8 SC=32 TA=f16 GA=float16_t TC=f32 GC=float
// case 16-011: M=16 N=32 K=8 LA=0 LB=1 LC=1 SA=8 SB=8 SC=16 TA=f16 GA=float16_t TC=f32 GC=float
// case 16-100: M=16 N=32 K=8 LA=1 LB=0 LC=0 SA=16 SB=32 SC=32 TA=f16 GA=float16_t TC=f32 GC=float
// case 16-101: M=16 N=32 K=8 LA=1 LB=0 LC=1 SA=16 SB=32 SC=16 TA=f16 GA=float16_t TC=f32 GC=float
// case 16-110: M=16 N=32 K=8 LA=1 LB=1 LC=0 SA=16 SB=8 SC=32 TA=f16 GA=float16_t TC=f32 GC=float
// case 16-111: M=16 N=32 K=8 LA=1 LB=1 LC=1 SA=16 SB=8 SC=16 TA=f16 GA=float16_t TC=f32 GC=float
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint M = 1;
layout(constant_id = 1) const uint N = 1;
layout(constant_id = 2) const uint K = 1;
layout(constant_id = 3) const int LAYOUT_A = 0;
layout(constant_id = 4) const int LAYOUT_B = 0;
layout(constant_id = 5) const int LAYOUT_C = 0;
layout(constant_id = 6) const uint STRIDE_A = 1;
layout(constant_id = 7) const uint STRIDE_B = 1;
layout(constant_id = 8) const uint STRIDE_C = 1;
layout(set = 0, binding = 0) readonly buffer InA { A_TYPE a[]; };
layout(set = 0, binding = 1) readonly buffer InB { B_TYPE b[]; };
layout(set = 0, binding = 2) readonly buffer InC { C_TYPE c[]; };
layout(set = 0, binding = 3) writeonly buffer OutD { C_TYPE d[]; };

void main()
{
    MATRIX(A_TYPE, M, K, A) matA;
    MATRIX(B_TYPE, K, N, B) matB;
    MATRIX(C_TYPE, M, N, Accumulator) matC;
    coopMatLoad(matA, a, 0, STRIDE_A, LAYOUT_A);
    coopMatLoad(matB, b, 0, STRIDE_B, LAYOUT_B);
    coopMatLoad(matC, c, 0, STRIDE_C, LAYOUT_C);
    matC = coopMatMulAdd(matA, matB, matC);
    coopMatStore(matC, d, 0, STRIDE_C, LAYOUT_C);
}
