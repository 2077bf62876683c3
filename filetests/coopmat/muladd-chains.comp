// Chains of multiply-adds, each of which adds to the result of the one before: every one of them rounds its sum to the
// type of the result, and overflows where that does. The products are integers of which sums are exact in f32, so that
// the order is of no matter. Where factors are f16, too, each product may be rounded as it is added (docs/ir.md), so there
// a row of A has a single element that is not zero (ONE), in an even column: AVX512-FP16 sums odd products by themselves
// before it adds them to the others and the addend, so that they are rounded twice.
//
// test run
// subgroup 16 32
// isa all
// define TA GA
// define T G
// define UNROLL HINT
// in 0.0 TTA gen 64 x 16 = (1 - ONE * (c != ((r * 3 + r % 7) % 8) * 2)) * ((r * 577 + c * 331 + r * c * 7) % (HI - LO + 1) + LO)
// in 0.1 TTA rand 1024 2 LO HI 1
// in 0.2 TT rand 256 3 LO HI 1
// out 0.3 TT gen 16 x 16 = TT(TT(TT(TT($0.2[i]
//     + sum(k, 16, $0.0[r * 16 + k] * $0.1[k * 16 + c]))
//     + sum(k, 16, $0.0[256 + r * 16 + k] * $0.1[256 + k * 16 + c]))
//     + sum(k, 16, $0.0[512 + r * 16 + k] * $0.1[512 + k * 16 + c]))
//     + sum(k, 16, $0.0[768 + r * 16 + k] * $0.1[768 + k * 16 + c]))
//
// case f16: TTA=f16 GA=float16_t TT=f16 G=float16_t LO=-90 HI=90 HINT=[[unroll]] ONE=1
// case f16-loop: TTA=f16 GA=float16_t TT=f16 G=float16_t LO=-90 HI=90 HINT=[[dont_unroll]] ONE=1
// case f16-overflow: TTA=f16 GA=float16_t TT=f16 G=float16_t LO=-250 HI=250 HINT=[[unroll]] ONE=1
// case bf16: TTA=bf16 GA=bfloat16_t TT=bf16 G=bfloat16_t LO=-40 HI=40 HINT=[[unroll]] ONE=0
// case bf16-loop: TTA=bf16 GA=bfloat16_t TT=bf16 G=bfloat16_t LO=-40 HI=40 HINT=[[dont_unroll]] ONE=0
// case e4m3-f16: TTA=e4m3 GA=floate4m3_t TT=f16 G=float16_t LO=-15 HI=15 HINT=[[unroll]] ONE=0
// case f16-f32: TTA=f16 GA=float16_t TT=f32 G=float LO=-250 HI=250 HINT=[[unroll]] ONE=0
#version 460
#extension GL_EXT_control_flow_attributes : require
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer InA { TA a[]; };
layout(set = 0, binding = 1) readonly buffer InB { TA b[]; };
layout(set = 0, binding = 2) readonly buffer InC { T c[]; };
layout(set = 0, binding = 3) writeonly buffer OutD { T d[]; };

void main()
{
    MATRIX(T, 16, 16, Accumulator) sum;
    coopMatLoad(sum, c, 0, 16, ROW_MAJOR);
    UNROLL for (uint k = 0; k < 4; ++k) {
        MATRIX(TA, 16, 16, A) matA;
        MATRIX(TA, 16, 16, B) matB;
        coopMatLoad(matA, a, 256 * k, 16, ROW_MAJOR);
        coopMatLoad(matB, b, 256 * k, 16, ROW_MAJOR);
        sum = coopMatMulAdd(matA, matB, sum);
    }
    coopMatStore(sum, d, 0, 16, ROW_MAJOR);
}
