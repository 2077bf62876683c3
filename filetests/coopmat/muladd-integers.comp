// Every tuple of integers. Each factor is widened by its own sign; sums wrap around.
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
// in 0.0 TA rand LA==0?M*SA:K*SA 1 LOA HIA
// in 0.1 TB rand LB==0?K*SB:N*SB 2 LOB HIB
// in 0.2 TC rand LC==0?M*SC:N*SC 3 0 100
// inout 0.3 TC fill LC==0?M*SC:N*SC 99
// tolerance exact
// out 0.3 TC gen (LC==0?M:N) x SC = c >= (LC==0?N:M) ? 99 : $0.2[i] + sum(k, K,
//     $0.0[LA == 0 ? (LC == 0 ? r : c) * SA + k : k * SA + (LC == 0 ? r : c)] *
//     $0.1[LB == 0 ? k * SB + (LC == 0 ? c : r) : (LC == 0 ? c : r) * SB + k])
//
// case i8-i8-i32-16x16x32: M=16 N=16 K=32 TA=i8 GA=int8_t TC=i32 GC=int32_t LOA=-128 HIA=127 LOB=-128 HIB=127
// case i8-i8-i32-5x7x9: M=5 N=7 K=9 TA=i8 GA=int8_t TC=i32 GC=int32_t LOA=-128 HIA=127 LOB=-128 HIB=127
// case i8-i8-u32-16x16x32: M=16 N=16 K=32 TA=i8 GA=int8_t TC=u32 GC=uint32_t LOA=-128 HIA=127 LOB=-128 HIB=127
// case i8-i8-u32-5x7x9: M=5 N=7 K=9 TA=i8 GA=int8_t TC=u32 GC=uint32_t LOA=-128 HIA=127 LOB=-128 HIB=127
// case i8-u8-i32-16x16x32: M=16 N=16 K=32 TA=i8 GA=int8_t TC=i32 GC=int32_t TB=u8 GB=uint8_t LOA=-128 HIA=127 LOB=0 HIB=255
// case i8-u8-i32-5x7x9: M=5 N=7 K=9 TA=i8 GA=int8_t TC=i32 GC=int32_t TB=u8 GB=uint8_t LOA=-128 HIA=127 LOB=0 HIB=255
// case i8-u8-u32-16x16x32: M=16 N=16 K=32 TA=i8 GA=int8_t TC=u32 GC=uint32_t TB=u8 GB=uint8_t LOA=-128 HIA=127 LOB=0 HIB=255
// case i8-u8-u32-5x7x9: M=5 N=7 K=9 TA=i8 GA=int8_t TC=u32 GC=uint32_t TB=u8 GB=uint8_t LOA=-128 HIA=127 LOB=0 HIB=255
// case u8-i8-i32-16x16x32: M=16 N=16 K=32 TA=u8 GA=uint8_t TC=i32 GC=int32_t TB=i8 GB=int8_t LOA=0 HIA=255 LOB=-128 HIB=127
// case u8-i8-i32-5x7x9: M=5 N=7 K=9 TA=u8 GA=uint8_t TC=i32 GC=int32_t TB=i8 GB=int8_t LOA=0 HIA=255 LOB=-128 HIB=127
// case u8-i8-u32-16x16x32: M=16 N=16 K=32 TA=u8 GA=uint8_t TC=u32 GC=uint32_t TB=i8 GB=int8_t LOA=0 HIA=255 LOB=-128 HIB=127
// case u8-i8-u32-5x7x9: M=5 N=7 K=9 TA=u8 GA=uint8_t TC=u32 GC=uint32_t TB=i8 GB=int8_t LOA=0 HIA=255 LOB=-128 HIB=127
// case u8-u8-i32-16x16x32: M=16 N=16 K=32 TA=u8 GA=uint8_t TC=i32 GC=int32_t LOA=0 HIA=255 LOB=0 HIB=255
// case u8-u8-i32-5x7x9: M=5 N=7 K=9 TA=u8 GA=uint8_t TC=i32 GC=int32_t LOA=0 HIA=255 LOB=0 HIB=255
// case u8-u8-u32-16x16x32: M=16 N=16 K=32 TA=u8 GA=uint8_t TC=u32 GC=uint32_t LOA=0 HIA=255 LOB=0 HIB=255
// case u8-u8-u32-5x7x9: M=5 N=7 K=9 TA=u8 GA=uint8_t TC=u32 GC=uint32_t LOA=0 HIA=255 LOB=0 HIB=255
// case i8-i8-i8-16x16x32: M=16 N=16 K=32 TA=i8 GA=int8_t TC=i8 GC=int8_t LOA=-128 HIA=127 LOB=-128 HIB=127
// case i8-i8-i8-5x7x9: M=5 N=7 K=9 TA=i8 GA=int8_t TC=i8 GC=int8_t LOA=-128 HIA=127 LOB=-128 HIB=127
// case u8-u8-u8-16x16x32: M=16 N=16 K=32 TA=u8 GA=uint8_t TC=u8 GC=uint8_t LOA=0 HIA=255 LOB=0 HIB=255
// case u8-u8-u8-5x7x9: M=5 N=7 K=9 TA=u8 GA=uint8_t TC=u8 GC=uint8_t LOA=0 HIA=255 LOB=0 HIB=255
// case i8-u8-i16-16x16x32: M=16 N=16 K=32 TA=i8 GA=int8_t TC=i16 GC=int16_t TB=u8 GB=uint8_t LOA=-128 HIA=127 LOB=0 HIB=255
// case i8-u8-i16-5x7x9: M=5 N=7 K=9 TA=i8 GA=int8_t TC=i16 GC=int16_t TB=u8 GB=uint8_t LOA=-128 HIA=127 LOB=0 HIB=255
// case i16-i16-i32-16x16x32: M=16 N=16 K=32 TA=i16 GA=int16_t TC=i32 GC=int32_t LOA=-128 HIA=127 LOB=-128 HIB=127
// case i16-i16-i32-5x7x9: M=5 N=7 K=9 TA=i16 GA=int16_t TC=i32 GC=int32_t LOA=-128 HIA=127 LOB=-128 HIB=127
// case u16-u16-u32-16x16x32: M=16 N=16 K=32 TA=u16 GA=uint16_t TC=u32 GC=uint32_t LOA=0 HIA=255 LOB=0 HIB=255
// case u16-u16-u32-5x7x9: M=5 N=7 K=9 TA=u16 GA=uint16_t TC=u32 GC=uint32_t LOA=0 HIA=255 LOB=0 HIB=255
// case u16-i16-i16-16x16x32: M=16 N=16 K=32 TA=u16 GA=uint16_t TC=i16 GC=int16_t TB=i16 GB=int16_t LOA=0 HIA=255 LOB=-128 HIB=127
// case u16-i16-i16-5x7x9: M=5 N=7 K=9 TA=u16 GA=uint16_t TC=i16 GC=int16_t TB=i16 GB=int16_t LOA=0 HIA=255 LOB=-128 HIB=127
// case i32-i32-i32-16x16x32: M=16 N=16 K=32 TA=i32 GA=int32_t TC=i32 GC=int32_t LOA=-128 HIA=127 LOB=-128 HIB=127
// case i32-i32-i32-5x7x9: M=5 N=7 K=9 TA=i32 GA=int32_t TC=i32 GC=int32_t LOA=-128 HIA=127 LOB=-128 HIB=127
// case u32-u32-u32-16x16x32: M=16 N=16 K=32 TA=u32 GA=uint32_t TC=u32 GC=uint32_t LOA=0 HIA=255 LOB=0 HIB=255
// case u32-u32-u32-5x7x9: M=5 N=7 K=9 TA=u32 GA=uint32_t TC=u32 GC=uint32_t LOA=0 HIA=255 LOB=0 HIB=255
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
