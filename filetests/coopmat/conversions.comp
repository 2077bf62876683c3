// Conversions between all component types, for every use: to integers by truncation, to floats by rounding to the
// nearest even.
//
// test run
// subgroup 4 32
// spec 0=R 1=C
// define SRC GS
// define DST GD
// define USE_ USE
// in 0.0 TS rand R*C 5 LO HI STEP
// out 0.1 TD gen R*C = ROUND($0.0[i])
//
// case f16-f32: TS=f16 GS=float16_t TD=f32 GD=float LO=-100 HI=100 STEP=0.5 R=16 C=16 USE=A ROUND=f32
// case f16-bf16: TS=f16 GS=float16_t TD=bf16 GD=bfloat16_t LO=-100 HI=100 STEP=0.5 R=16 C=16 USE=B ROUND=bf16
// case f16-e4m3: TS=f16 GS=float16_t TD=e4m3 GD=floate4m3_t LO=-100 HI=100 STEP=0.5 R=5 C=7 USE=Accumulator ROUND=e4m3
// case f16-e5m2: TS=f16 GS=float16_t TD=e5m2 GD=floate5m2_t LO=-100 HI=100 STEP=0.5 R=5 C=7 USE=A ROUND=e5m2
// case f16-i8: TS=f16 GS=float16_t TD=i8 GD=int8_t LO=-100 HI=100 STEP=0.5 R=5 C=7 USE=B ROUND=trunc
// case f16-u8: TS=f16 GS=float16_t TD=u8 GD=uint8_t LO=0 HI=100 STEP=0.5 R=9 C=12 USE=Accumulator ROUND=trunc
// case f16-i16: TS=f16 GS=float16_t TD=i16 GD=int16_t LO=-100 HI=100 STEP=0.5 R=9 C=12 USE=A ROUND=trunc
// case f16-u16: TS=f16 GS=float16_t TD=u16 GD=uint16_t LO=0 HI=100 STEP=0.5 R=9 C=12 USE=B ROUND=trunc
// case f16-i32: TS=f16 GS=float16_t TD=i32 GD=int32_t LO=-100 HI=100 STEP=0.5 R=16 C=16 USE=Accumulator ROUND=trunc
// case f16-u32: TS=f16 GS=float16_t TD=u32 GD=uint32_t LO=0 HI=100 STEP=0.5 R=16 C=16 USE=A ROUND=trunc
// case f32-f16: TS=f32 GS=float TD=f16 GD=float16_t LO=-100 HI=100 STEP=0.125 R=16 C=16 USE=B ROUND=f16
// case f32-bf16: TS=f32 GS=float TD=bf16 GD=bfloat16_t LO=-100 HI=100 STEP=0.125 R=5 C=7 USE=Accumulator ROUND=bf16
// case f32-e4m3: TS=f32 GS=float TD=e4m3 GD=floate4m3_t LO=-100 HI=100 STEP=0.125 R=5 C=7 USE=A ROUND=e4m3
// case f32-e5m2: TS=f32 GS=float TD=e5m2 GD=floate5m2_t LO=-100 HI=100 STEP=0.125 R=5 C=7 USE=B ROUND=e5m2
// case f32-i8: TS=f32 GS=float TD=i8 GD=int8_t LO=-100 HI=100 STEP=0.125 R=9 C=12 USE=Accumulator ROUND=trunc
// case f32-u8: TS=f32 GS=float TD=u8 GD=uint8_t LO=0 HI=100 STEP=0.125 R=9 C=12 USE=A ROUND=trunc
// case f32-i16: TS=f32 GS=float TD=i16 GD=int16_t LO=-100 HI=100 STEP=0.125 R=9 C=12 USE=B ROUND=trunc
// case f32-u16: TS=f32 GS=float TD=u16 GD=uint16_t LO=0 HI=100 STEP=0.125 R=16 C=16 USE=Accumulator ROUND=trunc
// case f32-i32: TS=f32 GS=float TD=i32 GD=int32_t LO=-100 HI=100 STEP=0.125 R=16 C=16 USE=A ROUND=trunc
// case f32-u32: TS=f32 GS=float TD=u32 GD=uint32_t LO=0 HI=100 STEP=0.125 R=16 C=16 USE=B ROUND=trunc
// case bf16-f16: TS=bf16 GS=bfloat16_t TD=f16 GD=float16_t LO=-16 HI=15 STEP=0.25 R=5 C=7 USE=Accumulator ROUND=f16
// case bf16-f32: TS=bf16 GS=bfloat16_t TD=f32 GD=float LO=-16 HI=15 STEP=0.25 R=5 C=7 USE=A ROUND=f32
// case bf16-e4m3: TS=bf16 GS=bfloat16_t TD=e4m3 GD=floate4m3_t LO=-16 HI=15 STEP=0.25 R=5 C=7 USE=B ROUND=e4m3
// case bf16-e5m2: TS=bf16 GS=bfloat16_t TD=e5m2 GD=floate5m2_t LO=-16 HI=15 STEP=0.25 R=9 C=12 USE=Accumulator ROUND=e5m2
// case bf16-i8: TS=bf16 GS=bfloat16_t TD=i8 GD=int8_t LO=-16 HI=15 STEP=0.25 R=9 C=12 USE=A ROUND=trunc
// case bf16-u8: TS=bf16 GS=bfloat16_t TD=u8 GD=uint8_t LO=0 HI=15 STEP=0.25 R=9 C=12 USE=B ROUND=trunc
// case bf16-i16: TS=bf16 GS=bfloat16_t TD=i16 GD=int16_t LO=-16 HI=15 STEP=0.25 R=16 C=16 USE=Accumulator ROUND=trunc
// case bf16-u16: TS=bf16 GS=bfloat16_t TD=u16 GD=uint16_t LO=0 HI=15 STEP=0.25 R=16 C=16 USE=A ROUND=trunc
// case bf16-i32: TS=bf16 GS=bfloat16_t TD=i32 GD=int32_t LO=-16 HI=15 STEP=0.25 R=16 C=16 USE=B ROUND=trunc
// case bf16-u32: TS=bf16 GS=bfloat16_t TD=u32 GD=uint32_t LO=0 HI=15 STEP=0.25 R=5 C=7 USE=Accumulator ROUND=trunc
// case e4m3-f16: TS=e4m3 GS=floate4m3_t TD=f16 GD=float16_t LO=-15 HI=15 STEP=1 R=5 C=7 USE=A ROUND=f16
// case e4m3-f32: TS=e4m3 GS=floate4m3_t TD=f32 GD=float LO=-15 HI=15 STEP=1 R=5 C=7 USE=B ROUND=f32
// case e4m3-bf16: TS=e4m3 GS=floate4m3_t TD=bf16 GD=bfloat16_t LO=-15 HI=15 STEP=1 R=9 C=12 USE=Accumulator ROUND=bf16
// case e4m3-e5m2: TS=e4m3 GS=floate4m3_t TD=e5m2 GD=floate5m2_t LO=-15 HI=15 STEP=1 R=9 C=12 USE=A ROUND=e5m2
// case e4m3-i8: TS=e4m3 GS=floate4m3_t TD=i8 GD=int8_t LO=-15 HI=15 STEP=1 R=9 C=12 USE=B ROUND=trunc
// case e4m3-u8: TS=e4m3 GS=floate4m3_t TD=u8 GD=uint8_t LO=0 HI=15 STEP=1 R=16 C=16 USE=Accumulator ROUND=trunc
// case e4m3-i16: TS=e4m3 GS=floate4m3_t TD=i16 GD=int16_t LO=-15 HI=15 STEP=1 R=16 C=16 USE=A ROUND=trunc
// case e4m3-u16: TS=e4m3 GS=floate4m3_t TD=u16 GD=uint16_t LO=0 HI=15 STEP=1 R=16 C=16 USE=B ROUND=trunc
// case e4m3-i32: TS=e4m3 GS=floate4m3_t TD=i32 GD=int32_t LO=-15 HI=15 STEP=1 R=5 C=7 USE=Accumulator ROUND=trunc
// case e4m3-u32: TS=e4m3 GS=floate4m3_t TD=u32 GD=uint32_t LO=0 HI=15 STEP=1 R=5 C=7 USE=A ROUND=trunc
// case e5m2-f16: TS=e5m2 GS=floate5m2_t TD=f16 GD=float16_t LO=-7 HI=7 STEP=1 R=5 C=7 USE=B ROUND=f16
// case e5m2-f32: TS=e5m2 GS=floate5m2_t TD=f32 GD=float LO=-7 HI=7 STEP=1 R=9 C=12 USE=Accumulator ROUND=f32
// case e5m2-bf16: TS=e5m2 GS=floate5m2_t TD=bf16 GD=bfloat16_t LO=-7 HI=7 STEP=1 R=9 C=12 USE=A ROUND=bf16
// case e5m2-e4m3: TS=e5m2 GS=floate5m2_t TD=e4m3 GD=floate4m3_t LO=-7 HI=7 STEP=1 R=9 C=12 USE=B ROUND=e4m3
// case e5m2-i8: TS=e5m2 GS=floate5m2_t TD=i8 GD=int8_t LO=-7 HI=7 STEP=1 R=16 C=16 USE=Accumulator ROUND=trunc
// case e5m2-u8: TS=e5m2 GS=floate5m2_t TD=u8 GD=uint8_t LO=0 HI=7 STEP=1 R=16 C=16 USE=A ROUND=trunc
// case e5m2-i16: TS=e5m2 GS=floate5m2_t TD=i16 GD=int16_t LO=-7 HI=7 STEP=1 R=16 C=16 USE=B ROUND=trunc
// case e5m2-u16: TS=e5m2 GS=floate5m2_t TD=u16 GD=uint16_t LO=0 HI=7 STEP=1 R=5 C=7 USE=Accumulator ROUND=trunc
// case e5m2-i32: TS=e5m2 GS=floate5m2_t TD=i32 GD=int32_t LO=-7 HI=7 STEP=1 R=5 C=7 USE=A ROUND=trunc
// case e5m2-u32: TS=e5m2 GS=floate5m2_t TD=u32 GD=uint32_t LO=0 HI=7 STEP=1 R=5 C=7 USE=B ROUND=trunc
// case i8-f16: TS=i8 GS=int8_t TD=f16 GD=float16_t LO=-128 HI=127 STEP=1 R=9 C=12 USE=Accumulator ROUND=f16
// case i8-f32: TS=i8 GS=int8_t TD=f32 GD=float LO=-128 HI=127 STEP=1 R=9 C=12 USE=A ROUND=f32
// case i8-bf16: TS=i8 GS=int8_t TD=bf16 GD=bfloat16_t LO=-128 HI=127 STEP=1 R=9 C=12 USE=B ROUND=bf16
// case i8-e4m3: TS=i8 GS=int8_t TD=e4m3 GD=floate4m3_t LO=-128 HI=127 STEP=1 R=16 C=16 USE=Accumulator ROUND=e4m3
// case i8-e5m2: TS=i8 GS=int8_t TD=e5m2 GD=floate5m2_t LO=-128 HI=127 STEP=1 R=16 C=16 USE=A ROUND=e5m2
// case i8-u8: TS=i8 GS=int8_t TD=u8 GD=uint8_t LO=0 HI=127 STEP=1 R=16 C=16 USE=B ROUND=trunc
// case i8-i16: TS=i8 GS=int8_t TD=i16 GD=int16_t LO=-128 HI=127 STEP=1 R=5 C=7 USE=Accumulator ROUND=trunc
// case i8-u16: TS=i8 GS=int8_t TD=u16 GD=uint16_t LO=0 HI=127 STEP=1 R=5 C=7 USE=A ROUND=trunc
// case i8-i32: TS=i8 GS=int8_t TD=i32 GD=int32_t LO=-128 HI=127 STEP=1 R=5 C=7 USE=B ROUND=trunc
// case i8-u32: TS=i8 GS=int8_t TD=u32 GD=uint32_t LO=0 HI=127 STEP=1 R=9 C=12 USE=Accumulator ROUND=trunc
// case u8-f16: TS=u8 GS=uint8_t TD=f16 GD=float16_t LO=0 HI=255 STEP=1 R=9 C=12 USE=A ROUND=f16
// case u8-f32: TS=u8 GS=uint8_t TD=f32 GD=float LO=0 HI=255 STEP=1 R=9 C=12 USE=B ROUND=f32
// case u8-bf16: TS=u8 GS=uint8_t TD=bf16 GD=bfloat16_t LO=0 HI=255 STEP=1 R=16 C=16 USE=Accumulator ROUND=bf16
// case u8-e4m3: TS=u8 GS=uint8_t TD=e4m3 GD=floate4m3_t LO=0 HI=255 STEP=1 R=16 C=16 USE=A ROUND=e4m3
// case u8-e5m2: TS=u8 GS=uint8_t TD=e5m2 GD=floate5m2_t LO=0 HI=255 STEP=1 R=16 C=16 USE=B ROUND=e5m2
// case u8-i8: TS=u8 GS=uint8_t TD=i8 GD=int8_t LO=0 HI=100 STEP=1 R=5 C=7 USE=Accumulator ROUND=trunc
// case u8-i16: TS=u8 GS=uint8_t TD=i16 GD=int16_t LO=0 HI=255 STEP=1 R=5 C=7 USE=A ROUND=trunc
// case u8-u16: TS=u8 GS=uint8_t TD=u16 GD=uint16_t LO=0 HI=255 STEP=1 R=5 C=7 USE=B ROUND=trunc
// case u8-i32: TS=u8 GS=uint8_t TD=i32 GD=int32_t LO=0 HI=255 STEP=1 R=9 C=12 USE=Accumulator ROUND=trunc
// case u8-u32: TS=u8 GS=uint8_t TD=u32 GD=uint32_t LO=0 HI=255 STEP=1 R=9 C=12 USE=A ROUND=trunc
// case i16-f16: TS=i16 GS=int16_t TD=f16 GD=float16_t LO=-200 HI=200 STEP=1 R=9 C=12 USE=B ROUND=f16
// case i16-f32: TS=i16 GS=int16_t TD=f32 GD=float LO=-200 HI=200 STEP=1 R=16 C=16 USE=Accumulator ROUND=f32
// case i16-bf16: TS=i16 GS=int16_t TD=bf16 GD=bfloat16_t LO=-200 HI=200 STEP=1 R=16 C=16 USE=A ROUND=bf16
// case i16-e4m3: TS=i16 GS=int16_t TD=e4m3 GD=floate4m3_t LO=-200 HI=200 STEP=1 R=16 C=16 USE=B ROUND=e4m3
// case i16-e5m2: TS=i16 GS=int16_t TD=e5m2 GD=floate5m2_t LO=-200 HI=200 STEP=1 R=5 C=7 USE=Accumulator ROUND=e5m2
// case i16-i8: TS=i16 GS=int16_t TD=i8 GD=int8_t LO=-100 HI=100 STEP=1 R=5 C=7 USE=A ROUND=trunc
// case i16-u8: TS=i16 GS=int16_t TD=u8 GD=uint8_t LO=0 HI=200 STEP=1 R=5 C=7 USE=B ROUND=trunc
// case i16-u16: TS=i16 GS=int16_t TD=u16 GD=uint16_t LO=0 HI=200 STEP=1 R=9 C=12 USE=Accumulator ROUND=trunc
// case i16-i32: TS=i16 GS=int16_t TD=i32 GD=int32_t LO=-200 HI=200 STEP=1 R=9 C=12 USE=A ROUND=trunc
// case i16-u32: TS=i16 GS=int16_t TD=u32 GD=uint32_t LO=0 HI=200 STEP=1 R=9 C=12 USE=B ROUND=trunc
// case u16-f16: TS=u16 GS=uint16_t TD=f16 GD=float16_t LO=0 HI=250 STEP=1 R=16 C=16 USE=Accumulator ROUND=f16
// case u16-f32: TS=u16 GS=uint16_t TD=f32 GD=float LO=0 HI=250 STEP=1 R=16 C=16 USE=A ROUND=f32
// case u16-bf16: TS=u16 GS=uint16_t TD=bf16 GD=bfloat16_t LO=0 HI=250 STEP=1 R=16 C=16 USE=B ROUND=bf16
// case u16-e4m3: TS=u16 GS=uint16_t TD=e4m3 GD=floate4m3_t LO=0 HI=250 STEP=1 R=5 C=7 USE=Accumulator ROUND=e4m3
// case u16-e5m2: TS=u16 GS=uint16_t TD=e5m2 GD=floate5m2_t LO=0 HI=250 STEP=1 R=5 C=7 USE=A ROUND=e5m2
// case u16-i8: TS=u16 GS=uint16_t TD=i8 GD=int8_t LO=0 HI=100 STEP=1 R=5 C=7 USE=B ROUND=trunc
// case u16-u8: TS=u16 GS=uint16_t TD=u8 GD=uint8_t LO=0 HI=250 STEP=1 R=9 C=12 USE=Accumulator ROUND=trunc
// case u16-i16: TS=u16 GS=uint16_t TD=i16 GD=int16_t LO=0 HI=250 STEP=1 R=9 C=12 USE=A ROUND=trunc
// case u16-i32: TS=u16 GS=uint16_t TD=i32 GD=int32_t LO=0 HI=250 STEP=1 R=9 C=12 USE=B ROUND=trunc
// case u16-u32: TS=u16 GS=uint16_t TD=u32 GD=uint32_t LO=0 HI=250 STEP=1 R=16 C=16 USE=Accumulator ROUND=trunc
// case i32-f16: TS=i32 GS=int32_t TD=f16 GD=float16_t LO=-120 HI=120 STEP=1 R=16 C=16 USE=A ROUND=f16
// case i32-f32: TS=i32 GS=int32_t TD=f32 GD=float LO=-120 HI=120 STEP=1 R=16 C=16 USE=B ROUND=f32
// case i32-bf16: TS=i32 GS=int32_t TD=bf16 GD=bfloat16_t LO=-120 HI=120 STEP=1 R=5 C=7 USE=Accumulator ROUND=bf16
// case i32-e4m3: TS=i32 GS=int32_t TD=e4m3 GD=floate4m3_t LO=-120 HI=120 STEP=1 R=5 C=7 USE=A ROUND=e4m3
// case i32-e5m2: TS=i32 GS=int32_t TD=e5m2 GD=floate5m2_t LO=-120 HI=120 STEP=1 R=5 C=7 USE=B ROUND=e5m2
// case i32-i8: TS=i32 GS=int32_t TD=i8 GD=int8_t LO=-100 HI=100 STEP=1 R=9 C=12 USE=Accumulator ROUND=trunc
// case i32-u8: TS=i32 GS=int32_t TD=u8 GD=uint8_t LO=0 HI=120 STEP=1 R=9 C=12 USE=A ROUND=trunc
// case i32-i16: TS=i32 GS=int32_t TD=i16 GD=int16_t LO=-120 HI=120 STEP=1 R=9 C=12 USE=B ROUND=trunc
// case i32-u16: TS=i32 GS=int32_t TD=u16 GD=uint16_t LO=0 HI=120 STEP=1 R=16 C=16 USE=Accumulator ROUND=trunc
// case i32-u32: TS=i32 GS=int32_t TD=u32 GD=uint32_t LO=0 HI=120 STEP=1 R=16 C=16 USE=A ROUND=trunc
// case u32-f16: TS=u32 GS=uint32_t TD=f16 GD=float16_t LO=0 HI=250 STEP=1 R=16 C=16 USE=B ROUND=f16
// case u32-f32: TS=u32 GS=uint32_t TD=f32 GD=float LO=0 HI=250 STEP=1 R=5 C=7 USE=Accumulator ROUND=f32
// case u32-bf16: TS=u32 GS=uint32_t TD=bf16 GD=bfloat16_t LO=0 HI=250 STEP=1 R=5 C=7 USE=A ROUND=bf16
// case u32-e4m3: TS=u32 GS=uint32_t TD=e4m3 GD=floate4m3_t LO=0 HI=250 STEP=1 R=5 C=7 USE=B ROUND=e4m3
// case u32-e5m2: TS=u32 GS=uint32_t TD=e5m2 GD=floate5m2_t LO=0 HI=250 STEP=1 R=9 C=12 USE=Accumulator ROUND=e5m2
// case u32-i8: TS=u32 GS=uint32_t TD=i8 GD=int8_t LO=0 HI=100 STEP=1 R=9 C=12 USE=A ROUND=trunc
// case u32-u8: TS=u32 GS=uint32_t TD=u8 GD=uint8_t LO=0 HI=250 STEP=1 R=9 C=12 USE=B ROUND=trunc
// case u32-i16: TS=u32 GS=uint32_t TD=i16 GD=int16_t LO=0 HI=250 STEP=1 R=16 C=16 USE=Accumulator ROUND=trunc
// case u32-u16: TS=u32 GS=uint32_t TD=u16 GD=uint16_t LO=0 HI=250 STEP=1 R=16 C=16 USE=A ROUND=trunc
// case u32-i32: TS=u32 GS=uint32_t TD=i32 GD=int32_t LO=0 HI=250 STEP=1 R=16 C=16 USE=B ROUND=trunc
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(set = 0, binding = 0) readonly buffer In { SRC a[]; };
layout(set = 0, binding = 1) buffer Out { DST b[]; };
#define GLUE(x, y) x##y
#define MATRIX_USE(u) GLUE(gl_MatrixUse, u)

void main()
{
    coopmat<SRC, gl_ScopeSubgroup, ROWS, COLS, MATRIX_USE(USE_)> m;
    coopMatLoad(m, a, 0, COLS, ROW_MAJOR);
    coopMatStore(coopmat<DST, gl_ScopeSubgroup, ROWS, COLS, MATRIX_USE(USE_)>(m), b, 0, COLS, ROW_MAJOR);
}
