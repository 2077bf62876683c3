// Element-wise arithmetic: + - * / and negation, and the product with a scalar from both sides, for every component
// type that has it, use and odd shape.
//
// test run
// subgroup 4 32
// keys USE=Accumulator
// spec 0=ROWS 1=COLS
// define T G
// define USE_ USE
// in 0.0 TT rand ROWS*COLS 6 LO HI 1
// in 0.1 TT rand ROWS*COLS 7 1 8 1
// out 0.2 TT gen ROWS*COLS = $0.0[i] + $0.1[i]
// out 0.3 TT gen ROWS*COLS = $0.0[i] - $0.1[i]
// out 0.4 TT gen ROWS*COLS = $0.0[i] * $0.1[i]
// tolerance 2 ulp
// out 0.5 TT gen ROWS*COLS = TRUNC($0.0[i] / $0.1[i])
// tolerance exact
// out 0.6 TT gen ROWS*COLS = -$0.0[i]
// out 0.7 TT gen ROWS*COLS = $0.0[i] * 3
// out 0.8 TT gen ROWS*COLS = $0.0[i] * 3
//
// case f16: TT=f16 G=float16_t ROWS=16 COLS=16 LO=-60 HI=60 TRUNC=f32
// case f16-a-odd: TT=f16 G=float16_t ROWS=3 COLS=7 LO=-60 HI=60 TRUNC=f32 USE=A
// case f16-b-odd: TT=f16 G=float16_t ROWS=9 COLS=5 LO=-60 HI=60 TRUNC=f32 USE=B
// case f32: TT=f32 G=float ROWS=16 COLS=16 LO=-100 HI=100 TRUNC=f32
// case f32-a: TT=f32 G=float ROWS=17 COLS=5 LO=-100 HI=100 TRUNC=f32 USE=A
// case f32-b: TT=f32 G=float ROWS=5 COLS=18 LO=-100 HI=100 TRUNC=f32 USE=B
// case i8: TT=i8 G=int8_t ROWS=16 COLS=16 LO=-128 HI=127 TRUNC=trunc
// case i8-b: TT=i8 G=int8_t ROWS=9 COLS=6 LO=-128 HI=127 TRUNC=trunc USE=B
// case u8: TT=u8 G=uint8_t ROWS=8 COLS=32 LO=0 HI=255 TRUNC=trunc USE=A
// case u8-b: TT=u8 G=uint8_t ROWS=10 COLS=3 LO=0 HI=255 TRUNC=trunc USE=B
// case i16: TT=i16 G=int16_t ROWS=16 COLS=16 LO=-32768 HI=32767 TRUNC=trunc
// case u16: TT=u16 G=uint16_t ROWS=5 COLS=16 LO=0 HI=65535 TRUNC=trunc USE=B
// case i32: TT=i32 G=int ROWS=16 COLS=16 LO=-2147483648 HI=2147483647 TRUNC=trunc
// case u32: TT=u32 G=uint ROWS=1 COLS=9 LO=0 HI=4294967295 TRUNC=trunc USE=A
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(set = 0, binding = 0) readonly buffer I0 { T a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { T b[]; };
layout(set = 0, binding = 2) buffer O2 { T sum[]; };
layout(set = 0, binding = 3) buffer O3 { T difference[]; };
layout(set = 0, binding = 4) buffer O4 { T product[]; };
layout(set = 0, binding = 5) buffer O5 { T quotient[]; };
layout(set = 0, binding = 6) buffer O6 { T negative[]; };
layout(set = 0, binding = 7) buffer O7 { T left[]; };
layout(set = 0, binding = 8) buffer O8 { T right[]; };
#define GLUE(x, y) x##y
#define MATRIX_USE(u) GLUE(gl_MatrixUse, u)
#define M coopmat<T, gl_ScopeSubgroup, ROWS, COLS, MATRIX_USE(USE_)>

void main()
{
    M x, y;
    coopMatLoad(x, a, 0, COLS, ROW_MAJOR);
    coopMatLoad(y, b, 0, COLS, ROW_MAJOR);
    coopMatStore(x + y, sum, 0, COLS, ROW_MAJOR);
    coopMatStore(x - y, difference, 0, COLS, ROW_MAJOR);
    coopMatStore(x * y, product, 0, COLS, ROW_MAJOR);
    coopMatStore(x / y, quotient, 0, COLS, ROW_MAJOR);
    coopMatStore(-x, negative, 0, COLS, ROW_MAJOR);
    coopMatStore(T(3) * x, left, 0, COLS, ROW_MAJOR);
    coopMatStore(x * T(3), right, 0, COLS, ROW_MAJOR);
}
