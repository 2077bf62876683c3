// Saturating accumulation: the sum of products and C is clamped to the range of the result; without the flag it
// wraps.
//
// test run
// subgroup 4 32
// isa all
// define T G
// define TA GA
// in 0.0 TTA rand 256 1 LO HI 1
// in 0.1 TTA rand 256 2 LO HI 1
// in 0.2 TT rand 256 3 CLO CHI
// out 0.3 TT gen 16 x 16 = clamp($0.2[i] + sum(k, 16, $0.0[r * 16 + k] * $0.1[k * 16 + c]), MIN, MAX)
// out 0.4 TT gen 16 x 16 = $0.2[i] + sum(k, 16, $0.0[r * 16 + k] * $0.1[k * 16 + c])
//
// case s8-s32: TT=i32 G=int TTA=i8 GA=int8_t LO=-128 HI=127 CLO=2147283647 CHI=2147483647 MIN=-2147483648 MAX=2147483647
// case s8-s32-low: TT=i32 G=int TTA=i8 GA=int8_t LO=-128 HI=127 CLO=-2147483648 CHI=-2147283648 MIN=-2147483648 MAX=2147483647
// case u8-u32: TT=u32 G=uint TTA=u8 GA=uint8_t LO=0 HI=255 CLO=4294567295 CHI=4294967295 MIN=0 MAX=4294967295
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer I0 { TA a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { TA b[]; };
layout(set = 0, binding = 2) readonly buffer I2 { T c[]; };
layout(set = 0, binding = 3) buffer O3 { T clamped[]; };
layout(set = 0, binding = 4) buffer O4 { T wrapped[]; };

void main()
{
    MATRIX(TA, 16, 16, A) matA;
    MATRIX(TA, 16, 16, B) matB;
    MATRIX(T, 16, 16, Accumulator) matC;
    coopMatLoad(matA, a, 0, 16, ROW_MAJOR);
    coopMatLoad(matB, b, 0, 16, ROW_MAJOR);
    coopMatLoad(matC, c, 0, 16, ROW_MAJOR);
    coopMatStore(coopMatMulAdd(matA, matB, matC, gl_MatrixOperandsSaturatingAccumulation), clamped, 0, 16, ROW_MAJOR);
    coopMatStore(coopMatMulAdd(matA, matB, matC), wrapped, 0, 16, ROW_MAJOR);
}
