// Strides and offsets from push constants and from memory.
//
// test run
// subgroup 4 32
// push u32 [10 3 18 5]
// in 0.0 f16 rand 200 1 -2 2 0.5
// in 0.1 u32 [9 2]
// inout 0.2 f32 fill 164 7
// out 0.2 f32 gen 164 = i < 5 ? 7 : (i - 5) % 18 >= 8 ? 7 : div(i - 5, 18) >= 8 ? 7 :
//     sum(k, 8, $0.0[3 + div(i - 5, 18) * 10 + k] * $0.0[2 + k * 9 + (i - 5) % 18])
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint strideA; uint offsetA; uint strideC; uint offsetC; };
layout(set = 0, binding = 0) readonly buffer In { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer Where { uint strideB; uint offsetB; };
layout(set = 0, binding = 2) buffer Out { float c[]; };

void main()
{
    MATRIX(float16_t, 8, 8, A) matA;
    MATRIX(float16_t, 8, 8, B) matB;
    coopMatLoad(matA, a, offsetA, strideA, ROW_MAJOR);
    coopMatLoad(matB, a, offsetB, strideB, ROW_MAJOR);
    coopMatStore(coopMatMulAdd(matA, matB, MATRIX(float, 8, 8, Accumulator)(0.0)), c, offsetC, strideC, ROW_MAJOR);
}
