// Transposes from Accumulator to B of another component type, which GLSL forbids and SPIR-V does not mention.
//
// test run
// subgroup 4 32 64
// define S G
// define D H
// in 0.0 FROM rand 60 9 LO HI STEP
// out 0.1 TO gen 10 x 6 = $0.0[c * 10 + r]
//
// case f32-f16: FROM=f32 G=float TO=f16 H=float16_t LO=-60 HI=60 STEP=0.5
// case f16-f32: FROM=f16 G=float16_t TO=f32 H=float LO=-60 HI=60 STEP=0.5
// case f32-e4m3: FROM=f32 G=float TO=e4m3 H=floate4m3_t LO=-15 HI=15 STEP=1
// case i32-i8: FROM=i32 G=int32_t TO=i8 H=int8_t LO=-128 HI=127 STEP=1
// case u32-u8: FROM=u32 G=uint32_t TO=u8 H=uint8_t LO=0 HI=255 STEP=1
// case i8-i32: FROM=i8 G=int8_t TO=i32 H=int32_t LO=-128 HI=127 STEP=1
// case u8-u32: FROM=u8 G=uint8_t TO=u32 H=uint32_t LO=0 HI=255 STEP=1
#version 460
#include "matrices2.glsl"

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { S a[]; };
layout(set = 0, binding = 1) buffer Out { D b[]; };

void main()
{
    MATRIX(S, 6, 10, Accumulator) m;
    coopMatLoad(m, a, 0, 10, ROW_MAJOR);
    MATRIX(D, 10, 6, B) t;
    coopMatTransposeNV(t, m);
    coopMatStore(t, b, 0, 6, ROW_MAJOR);
}
