// A matrix is read and written again, with every component type, use and layout: the rest of the buffer stays, and
// from row-major to column-major it is transposed.
//
// test run
// subgroup 4 32 128
// keys LOAD=0 STORE=0 SL=COLS SS=COLS USE=A
// spec 0=ROWS 1=COLS 2=LOAD 3=STORE 4=SL 5=SS
// define T G
// define USE_ USE
// in 0.0 TT rand LOAD==0?ROWS*SL:COLS*SL 5 0 60 1
// inout 0.1 TT fill STORE==0?ROWS*SS:COLS*SS 64
// out 0.1 TT gen (STORE==0?ROWS:COLS) x SS = c >= (STORE==0?COLS:ROWS) ? 64 :
//     $0.0[LOAD==0 ? (STORE==0?r:c) * SL + (STORE==0?c:r) : (STORE==0?c:r) * SL + (STORE==0?r:c)]
//
// case f16: TT=f16 G=float16_t ROWS=16 COLS=16
// case f16-b: TT=f16 G=float16_t ROWS=16 COLS=8 USE=B
// case f16-acc: TT=f16 G=float16_t ROWS=8 COLS=16 USE=Accumulator
// case f16-odd: TT=f16 G=float16_t ROWS=5 COLS=7 SL=9 SS=8
// case f16-transposed: TT=f16 G=float16_t ROWS=5 COLS=7 LOAD=0 STORE=1 SS=6
// case f16-b-transposed: TT=f16 G=float16_t ROWS=12 COLS=20 LOAD=1 STORE=0 SL=12 USE=B
// case f32: TT=f32 G=float ROWS=16 COLS=16
// case f32-b: TT=f32 G=float ROWS=3 COLS=17 USE=B SL=20
// case f32-acc: TT=f32 G=float ROWS=33 COLS=5 USE=Accumulator SS=6
// case f32-acc-transposed: TT=f32 G=float ROWS=33 COLS=5 USE=Accumulator LOAD=1 SL=40
// case f32-acc-columns: TT=f32 G=float ROWS=6 COLS=10 USE=Accumulator LOAD=1 STORE=1 SL=7 SS=6
// case bf16: TT=bf16 G=bfloat16_t ROWS=16 COLS=16
// case bf16-b: TT=bf16 G=bfloat16_t ROWS=16 COLS=16 USE=B
// case bf16-b-odd: TT=bf16 G=bfloat16_t ROWS=7 COLS=9 USE=B LOAD=1 SL=8
// case e4m3: TT=u8 G=floate4m3_t ROWS=16 COLS=16
// case e4m3-b: TT=u8 G=floate4m3_t ROWS=9 COLS=5 USE=B
// case e5m2-b: TT=u8 G=floate5m2_t ROWS=32 COLS=16 USE=B STORE=1 SS=32
// case i8: TT=i8 G=int8_t ROWS=16 COLS=32
// case i8-b: TT=i8 G=int8_t ROWS=32 COLS=16 USE=B
// case i8-b-odd: TT=i8 G=int8_t ROWS=13 COLS=6 USE=B LOAD=1 SL=13
// case u8-acc: TT=u8 G=uint8_t ROWS=3 COLS=4 USE=Accumulator
// case i16: TT=i16 G=int16_t ROWS=9 COLS=9 USE=B STORE=1 SS=9
// case u16: TT=u16 G=uint16_t ROWS=4 COLS=64
// case i32: TT=i32 G=int32_t ROWS=16 COLS=16 USE=Accumulator
// case u32: TT=u32 G=uint32_t ROWS=2 COLS=3 USE=B
// case one: TT=f32 G=float ROWS=1 COLS=1 USE=Accumulator
// case row: TT=i8 G=int8_t ROWS=1 COLS=70
// case column: TT=f16 G=float16_t ROWS=70 COLS=1 USE=B
// case large: TT=f16 G=float16_t ROWS=128 COLS=96 USE=Accumulator
#version 460
#include "matrices.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(constant_id = 2) const int LOAD = 0;
layout(constant_id = 3) const int STORE = 0;
layout(constant_id = 4) const uint STRIDE_LOAD = 1;
layout(constant_id = 5) const uint STRIDE_STORE = 1;
layout(set = 0, binding = 0) readonly buffer In { T a[]; };
layout(set = 0, binding = 1) buffer Out { T b[]; };
#define GLUE(x, y) x##y
#define MATRIX_USE(u) GLUE(gl_MatrixUse, u)

void main()
{
    coopmat<T, gl_ScopeSubgroup, ROWS, COLS, MATRIX_USE(USE_)> m;
    coopMatLoad(m, a, 0, STRIDE_LOAD, LOAD);
    coopMatStore(m, b, 0, STRIDE_STORE, STORE);
}
