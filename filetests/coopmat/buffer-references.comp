// Matrices at device addresses, aligned as the reference type says, with offsets inside of what it points to.
//
// test run
// subgroup 4 32
// in 0.0 addr [0.1 0.2+16 0.3]
// in 0.1 i8 rand 64 8 -20 20
// in 0.2 i8 rand 80 9 -20 20
// out 0.3 i32 gen 64 = 5 + sum(k, 8, $0.1[div(i, 8) * 8 + k] * $0.2[16 + k * 8 + i % 8])
#version 460
#extension GL_EXT_buffer_reference : require
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Bytes { int8_t x[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Words { int x[]; };
layout(set = 0, binding = 0) readonly buffer Table { Bytes a; Bytes b; Words d; };

void main()
{
    MATRIX(int8_t, 8, 8, A) matA;
    MATRIX(int8_t, 8, 8, B) matB;
    coopMatLoad(matA, a.x, 0, 8, ROW_MAJOR);
    coopMatLoad(matB, b.x, 0, 8, ROW_MAJOR);
    MATRIX(int, 8, 8, Accumulator) sum = MATRIX(int, 8, 8, Accumulator)(5);
    sum = coopMatMulAdd(matA, matB, sum);
    coopMatStore(sum, d.x, 0, 8, ROW_MAJOR);
}
