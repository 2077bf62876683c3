// Products of bf16: denormal factors, addends and results are zeros, on every processor; a GPU keeps them (E). The numbers
// are given by their bits. Each row of A has one element that is not zero.
//
// test run
// isa all
// define T G
// in 0.0 u16 gen 16 x 16 = r == c ? A : 0
// in 0.1 u16 fill 256 B
// in 0.2 TT fill 256 C
// out 0.3 TT fill 256 D
// gpu TT fill 256 E
//
// 2^-127 times 2^100, in either place.
// case left: TT=u32 G=float A=64 B=29056 C=0 D=0 E=838860800
// case right: TT=u32 G=float A=29056 B=64 C=1065353216 D=1065353216 E=1065353216
// 2^-63 times 2^-64, and times 2^-63.
// case product: TT=u32 G=float A=8192 B=8064 C=0 D=0 E=4194304
// case least: TT=u32 G=float A=8192 B=8192 C=0 D=8388608 E=8388608
// case addend: TT=u32 G=float A=0 B=0 C=4194304 D=0 E=4194304
// 2^-126 from what is next to it.
// case narrow: TT=u16 G=bfloat16_t A=16256 B=32896 C=129 D=0 E=1
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer InA { bfloat16_t a[]; };
layout(set = 0, binding = 1) readonly buffer InB { bfloat16_t b[]; };
layout(set = 0, binding = 2) readonly buffer InC { T c[]; };
layout(set = 0, binding = 3) writeonly buffer OutD { T d[]; };

void main()
{
    MATRIX(bfloat16_t, 16, 16, A) matA;
    MATRIX(bfloat16_t, 16, 16, B) matB;
    MATRIX(T, 16, 16, Accumulator) matC;
    coopMatLoad(matA, a, 0, 16, ROW_MAJOR);
    coopMatLoad(matB, b, 0, 16, ROW_MAJOR);
    coopMatLoad(matC, c, 0, 16, ROW_MAJOR);
    coopMatStore(coopMatMulAdd(matA, matB, matC), d, 0, 16, ROW_MAJOR);
}
