// The use changes from Accumulator to A and to B and the component type stays: every bit stays, too.
//
// test run
// subgroup 4 32
// spec 0=R 1=C
// define T G
// in 0.0 TT rand R*C 5 LO HI STEP
// out 0.1 TT gen R*C = $0.0[i]
// out 0.2 TT gen R*C = $0.0[i]
//
// case f16-1x1: TT=f16 G=float16_t R=1 C=1 LO=-60 HI=60 STEP=0.5
// case f16-16x16: TT=f16 G=float16_t R=16 C=16 LO=-60 HI=60 STEP=0.5
// case f32-16x16: TT=f32 G=float R=16 C=16 LO=-100 HI=100 STEP=0.125
// case f32-1x33: TT=f32 G=float R=1 C=33 LO=-100 HI=100 STEP=0.125
// case bf16-7x3: TT=bf16 G=bfloat16_t R=7 C=3 LO=-16 HI=15 STEP=0.25
// case bf16-3x7: TT=bf16 G=bfloat16_t R=3 C=7 LO=-16 HI=15 STEP=0.25
// case e4m3-1x33: TT=e4m3 G=floate4m3_t R=1 C=33 LO=-15 HI=15 STEP=1
// case e4m3-33x1: TT=e4m3 G=floate4m3_t R=33 C=1 LO=-15 HI=15 STEP=1
// case e5m2-33x1: TT=e5m2 G=floate5m2_t R=33 C=1 LO=-7 HI=7 STEP=1
// case e5m2-1x1: TT=e5m2 G=floate5m2_t R=1 C=1 LO=-7 HI=7 STEP=1
// case i8-5x18: TT=i8 G=int8_t R=5 C=18 LO=-128 HI=127 STEP=1
// case i8-7x3: TT=i8 G=int8_t R=7 C=3 LO=-128 HI=127 STEP=1
// case u8-32x8: TT=u8 G=uint8_t R=32 C=8 LO=0 HI=255 STEP=1
// case u8-5x18: TT=u8 G=uint8_t R=5 C=18 LO=0 HI=255 STEP=1
// case i16-1x1: TT=i16 G=int16_t R=1 C=1 LO=-32768 HI=32767 STEP=1
// case i16-16x16: TT=i16 G=int16_t R=16 C=16 LO=-32768 HI=32767 STEP=1
// case u16-16x16: TT=u16 G=uint16_t R=16 C=16 LO=0 HI=65535 STEP=1
// case u16-1x33: TT=u16 G=uint16_t R=1 C=33 LO=0 HI=65535 STEP=1
// case i32-3x7: TT=i32 G=int32_t R=3 C=7 LO=-2147483648 HI=2147483647 STEP=1
// case i32-32x8: TT=i32 G=int32_t R=32 C=8 LO=-2147483648 HI=2147483647 STEP=1
// case u32-7x3: TT=u32 G=uint32_t R=7 C=3 LO=0 HI=4294967295 STEP=1
// case u32-3x7: TT=u32 G=uint32_t R=3 C=7 LO=0 HI=4294967295 STEP=1
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(set = 0, binding = 0) readonly buffer In { T a[]; };
layout(set = 0, binding = 1) buffer OutA { T b[]; };
layout(set = 0, binding = 2) buffer OutB { T c[]; };

void main()
{
    MATRIX(T, ROWS, COLS, Accumulator) m;
    coopMatLoad(m, a, 0, COLS, ROW_MAJOR);
    coopMatStore(MATRIX(T, ROWS, COLS, A)(m), b, 0, COLS, ROW_MAJOR);
    coopMatStore(MATRIX(T, ROWS, COLS, B)(m), c, 0, COLS, ROW_MAJOR);
}
