// Saturating accumulation of 32-bit integers: the sum of products is exact, also where it needs more than 64 bits.
//
// test run
// isa all
// define T G
// define K KK
// in 0.0 TT fill 16*KK A
// in 0.1 TT fill KK*16 B
// out 0.2 TT fill 256 D
//
// case u32-1: TT=u32 G=uint KK=1 A=4294967295 B=4294967295 D=4294967295
// case u32-16: TT=u32 G=uint KK=16 A=4294967295 B=4294967295 D=4294967295
// case s32: TT=i32 G=int KK=16 A=2147483647 B=2147483647 D=2147483647
// case s32-low: TT=i32 G=int KK=16 A=2147483647 B=-2147483648 D=-2147483648
// case s32-inside: TT=i32 G=int KK=16 A=-1000 B=1000 D=-16000000
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer InA { T a[]; };
layout(set = 0, binding = 1) readonly buffer InB { T b[]; };
layout(set = 0, binding = 2) writeonly buffer OutD { T d[]; };

void main()
{
    MATRIX(T, 16, K, A) matA;
    MATRIX(T, K, 16, B) matB;
    coopMatLoad(matA, a, 0, K, ROW_MAJOR);
    coopMatLoad(matB, b, 0, 16, ROW_MAJOR);
    MATRIX(T, 16, 16, Accumulator) zero = MATRIX(T, 16, 16, Accumulator)(T(0));
    coopMatStore(coopMatMulAdd(matA, matB, zero, gl_MatrixOperandsSaturatingAccumulation), d, 0, 16, ROW_MAJOR);
}
