// Transposes from Accumulator to B, twice in a row through memory.
//
// test run
// subgroup 4 32 64
// spec 0=R 1=C
// define T G
// in 0.0 TT rand R*C 9 LO HI STEP
// out 0.1 TT gen C x R = $0.0[c * C + r]
// out 0.2 TT gen R*C = $0.0[i]
//
// case f16-7x3: TT=f16 G=float16_t R=7 C=3 LO=-60 HI=60 STEP=0.5
// case f32-1x33: TT=f32 G=float R=1 C=33 LO=-100 HI=100 STEP=0.125
// case bf16-5x18: TT=bf16 G=bfloat16_t R=5 C=18 LO=-16 HI=15 STEP=0.25
// case e4m3-32x8: TT=e4m3 G=floate4m3_t R=32 C=8 LO=-15 HI=15 STEP=1
// case e5m2-1x1: TT=e5m2 G=floate5m2_t R=1 C=1 LO=-7 HI=7 STEP=1
// case i8-16x16: TT=i8 G=int8_t R=16 C=16 LO=-128 HI=127 STEP=1
// case u8-3x7: TT=u8 G=uint8_t R=3 C=7 LO=0 HI=255 STEP=1
// case i16-7x3: TT=i16 G=int16_t R=7 C=3 LO=-32768 HI=32767 STEP=1
// case u16-1x33: TT=u16 G=uint16_t R=1 C=33 LO=0 HI=65535 STEP=1
// case i32-33x1: TT=i32 G=int32_t R=33 C=1 LO=-2147483648 HI=2147483647 STEP=1
// case u32-5x18: TT=u32 G=uint32_t R=5 C=18 LO=0 HI=4294967295 STEP=1
// case f16-1x1: TT=f16 G=float16_t R=1 C=1 LO=-60 HI=60 STEP=0.5
// case f16-64x48: TT=f16 G=float16_t R=64 C=48 LO=-60 HI=60 STEP=0.5
#version 460
#include "matrices2.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(set = 0, binding = 0) readonly buffer In { T a[]; };
layout(set = 0, binding = 1) buffer Once { T b[]; };
layout(set = 0, binding = 2) buffer Twice { T c[]; };

void main()
{
    MATRIX(T, ROWS, COLS, Accumulator) m;
    coopMatLoad(m, a, 0, COLS, ROW_MAJOR);
    MATRIX(T, COLS, ROWS, B) t;
    coopMatTransposeNV(t, m);
    coopMatStore(t, b, 0, ROWS, ROW_MAJOR);
    MATRIX(T, COLS, ROWS, Accumulator) again;
    coopMatLoad(again, a, 0, COLS, COL_MAJOR);
    MATRIX(T, ROWS, COLS, B) back;
    coopMatTransposeNV(back, again);
    coopMatStore(back, c, 0, COLS, ROW_MAJOR);
}
