// Use and component type change together, from Accumulator to A and to B.
//
// test run
// subgroup 4 32
// spec 0=R 1=C
// define SRC GS
// define DST GD
// in 0.0 TS rand R*C 5 LO HI STEP
// out 0.1 TD gen R*C = ROUND($0.0[i])
// out 0.2 TD gen R*C = ROUND($0.0[i])
//
// case f32-f16: TS=f32 GS=float TD=f16 GD=float16_t R=1 C=1 LO=-100 HI=100 STEP=0.125 ROUND=f16
// case f32-bf16: TS=f32 GS=float TD=bf16 GD=bfloat16_t R=16 C=16 LO=-100 HI=100 STEP=0.125 ROUND=bf16
// case f32-e4m3: TS=f32 GS=float TD=e4m3 GD=floate4m3_t R=3 C=7 LO=-100 HI=100 STEP=0.125 ROUND=e4m3
// case f32-e5m2: TS=f32 GS=float TD=e5m2 GD=floate5m2_t R=7 C=3 LO=-100 HI=100 STEP=0.125 ROUND=e5m2
// case f32-i8: TS=f32 GS=float TD=i8 GD=int8_t R=1 C=33 LO=-100 HI=100 STEP=0.125 ROUND=trunc
// case f32-i32: TS=f32 GS=float TD=i32 GD=int32_t R=33 C=1 LO=-100 HI=100 STEP=0.125 ROUND=trunc
// case f16-f32: TS=f16 GS=float16_t TD=f32 GD=float R=5 C=18 LO=-60 HI=60 STEP=0.5 ROUND=f32
// case f16-e4m3: TS=f16 GS=float16_t TD=e4m3 GD=floate4m3_t R=32 C=8 LO=-60 HI=60 STEP=0.5 ROUND=e4m3
// case f16-i8: TS=f16 GS=float16_t TD=i8 GD=int8_t R=1 C=1 LO=-60 HI=60 STEP=0.5 ROUND=trunc
// case bf16-f32: TS=bf16 GS=bfloat16_t TD=f32 GD=float R=16 C=16 LO=-16 HI=15 STEP=0.25 ROUND=f32
// case e4m3-f16: TS=e4m3 GS=floate4m3_t TD=f16 GD=float16_t R=3 C=7 LO=-15 HI=15 STEP=1 ROUND=f16
// case i32-i8: TS=i32 GS=int32_t TD=i8 GD=int8_t R=7 C=3 LO=-100 HI=100 STEP=1 ROUND=trunc
// case i32-f16: TS=i32 GS=int32_t TD=f16 GD=float16_t R=1 C=33 LO=-100 HI=100 STEP=1 ROUND=f16
// case i32-f32: TS=i32 GS=int32_t TD=f32 GD=float R=33 C=1 LO=-100 HI=100 STEP=1 ROUND=f32
// case i8-i32: TS=i8 GS=int8_t TD=i32 GD=int32_t R=5 C=18 LO=-128 HI=127 STEP=1 ROUND=trunc
// case u8-f16: TS=u8 GS=uint8_t TD=f16 GD=float16_t R=32 C=8 LO=0 HI=255 STEP=1 ROUND=f16
// case u32-u8: TS=u32 GS=uint32_t TD=u8 GD=uint8_t R=1 C=1 LO=0 HI=200 STEP=1 ROUND=trunc
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(set = 0, binding = 0) readonly buffer In { SRC a[]; };
layout(set = 0, binding = 1) buffer OutA { DST b[]; };
layout(set = 0, binding = 2) buffer OutB { DST c[]; };

void main()
{
    MATRIX(SRC, ROWS, COLS, Accumulator) m;
    coopMatLoad(m, a, 0, COLS, ROW_MAJOR);
    coopMatStore(MATRIX(DST, ROWS, COLS, A)(m), b, 0, COLS, ROW_MAJOR);
    coopMatStore(MATRIX(DST, ROWS, COLS, B)(m), c, 0, COLS, ROW_MAJOR);
}
