// Every shape: f16 factors summed up in f32, and signed bytes in 32-bit integers.
//
// The expected value is the sum that defines it. LA, LB and LC are 1 where a matrix is column-major. D has the layout
// and stride of C, and is not written outside of the matrix.
//
// test run
// isa all
// keys LA=0 LB=0 LC=0 SA=K SB=N SC=N TB=TA GB=GA
// spec 0=M 1=N 2=K 3=LA 4=LB 5=LC 6=SA 7=SB 8=SC
// define A_TYPE GA
// define B_TYPE GB
// define C_TYPE GC
// in 0.0 TA rand LA==0?M*SA:K*SA 1 -2 2 1
// in 0.1 TB rand LB==0?K*SB:N*SB 2 -2 2 1
// in 0.2 TC rand LC==0?M*SC:N*SC 3 -2 2 1
// inout 0.3 TC fill LC==0?M*SC:N*SC 99
// tolerance exact
// out 0.3 TC gen (LC==0?M:N) x SC = c >= (LC==0?N:M) ? 99 : $0.2[i] + sum(k, K,
//     $0.0[LA == 0 ? (LC == 0 ? r : c) * SA + k : k * SA + (LC == 0 ? r : c)] *
//     $0.1[LB == 0 ? k * SB + (LC == 0 ? c : r) : (LC == 0 ? c : r) * SB + k])
//
// case f16-1x1x1: M=1 N=1 K=1 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-1x7x3: M=1 N=7 K=3 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-3x1x5: M=3 N=1 K=5 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-5x3x1: M=5 N=3 K=1 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-2x2x2: M=2 N=2 K=2 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-4x4x4: M=4 N=4 K=4 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-7x13x3: M=7 N=13 K=3 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-8x8x8: M=8 N=8 K=8 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-8x8x32: M=8 N=8 K=32 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-15x17x16: M=15 N=17 K=16 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-16x8x8: M=16 N=8 K=8 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-16x8x16: M=16 N=8 K=16 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-16x16x16: M=16 N=16 K=16 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-17x5x9: M=17 N=5 K=9 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-32x32x16: M=32 N=32 K=16 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-33x31x29: M=33 N=31 K=29 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-64x64x64: M=64 N=64 K=64 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-1x64x64: M=1 N=64 K=64 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-64x1x64: M=64 N=1 K=64 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-16x16x1: M=16 N=16 K=1 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-1x1x64: M=1 N=1 K=64 TA=f16 GA=float16_t TC=f32 GC=float
// case f16-48x16x32: M=48 N=16 K=32 TA=f16 GA=float16_t TC=f32 GC=float
// case s8-1x1x1: M=1 N=1 K=1 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-1x7x3: M=1 N=7 K=3 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-3x1x5: M=3 N=1 K=5 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-5x3x1: M=5 N=3 K=1 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-2x2x2: M=2 N=2 K=2 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-4x4x4: M=4 N=4 K=4 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-7x13x3: M=7 N=13 K=3 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-8x8x8: M=8 N=8 K=8 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-8x8x32: M=8 N=8 K=32 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-15x17x16: M=15 N=17 K=16 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-16x8x8: M=16 N=8 K=8 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-16x8x16: M=16 N=8 K=16 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-16x16x16: M=16 N=16 K=16 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-17x5x9: M=17 N=5 K=9 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-32x32x16: M=32 N=32 K=16 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-33x31x29: M=33 N=31 K=29 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-64x64x64: M=64 N=64 K=64 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-1x64x64: M=1 N=64 K=64 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-64x1x64: M=64 N=1 K=64 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-16x16x1: M=16 N=16 K=1 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-1x1x64: M=1 N=1 K=64 TA=i8 GA=int8_t TC=i32 GC=int32_t
// case s8-48x16x32: M=48 N=16 K=32 TA=i8 GA=int8_t TC=i32 GC=int32_t
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
