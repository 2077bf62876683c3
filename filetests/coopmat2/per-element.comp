// Each element by a function of its place, itself, a scalar, a vector and the elements of two more matrices; on
// every use and type. Functions call functions, return early, loop and read buffers.
//
// test run
// subgroup 4 32
// spec 0=R 1=C
// define T G
// define USE_ USE
// in 0.0 TT rand R*C 5 0 3 1
// in 0.1 TT rand R*C 6 0 3 1
// in 0.2 i32 [2 1]
// out 0.3 TT gen R*C = div(i, C) % 3 + 2 * (i % C % 2) + $0.0[i]
// out 0.4 TT gen R*C = $0.0[i] > 2 ? 7 : $0.0[i] + $0.1[i] + 2 + (1 + 2)
// out 0.5 TT gen R*C = div(i, C) % 2 == 0 ? $0.1[i] : $0.0[i]
//
// case f16-a-16x16: TT=f16 G=float16_t USE=A R=16 C=16
// case f16-b-1x33: TT=f16 G=float16_t USE=B R=1 C=33
// case f32-accumulator-32x8: TT=f32 G=float USE=Accumulator R=32 C=8
// case f32-a-3x7: TT=f32 G=float USE=A R=3 C=7
// case bf16-b-33x1: TT=bf16 G=bfloat16_t USE=B R=33 C=1
// case bf16-accumulator-1x1: TT=bf16 G=bfloat16_t USE=Accumulator R=1 C=1
// case e4m3-a-7x3: TT=e4m3 G=floate4m3_t USE=A R=7 C=3
// case e4m3-b-5x18: TT=e4m3 G=floate4m3_t USE=B R=5 C=18
// case e5m2-accumulator-16x16: TT=e5m2 G=floate5m2_t USE=Accumulator R=16 C=16
// case e5m2-a-1x33: TT=e5m2 G=floate5m2_t USE=A R=1 C=33
// case i8-b-32x8: TT=i8 G=int8_t USE=B R=32 C=8
// case i8-accumulator-3x7: TT=i8 G=int8_t USE=Accumulator R=3 C=7
// case u8-a-33x1: TT=u8 G=uint8_t USE=A R=33 C=1
// case u8-b-1x1: TT=u8 G=uint8_t USE=B R=1 C=1
// case i16-accumulator-7x3: TT=i16 G=int16_t USE=Accumulator R=7 C=3
// case i16-a-5x18: TT=i16 G=int16_t USE=A R=5 C=18
// case u16-b-16x16: TT=u16 G=uint16_t USE=B R=16 C=16
// case u16-accumulator-1x33: TT=u16 G=uint16_t USE=Accumulator R=1 C=33
// case i32-a-32x8: TT=i32 G=int32_t USE=A R=32 C=8
// case i32-b-3x7: TT=i32 G=int32_t USE=B R=3 C=7
// case u32-accumulator-33x1: TT=u32 G=uint32_t USE=Accumulator R=33 C=1
// case u32-a-1x1: TT=u32 G=uint32_t USE=A R=1 C=1
// case f16-b-3x128: TT=f16 G=float16_t USE=B R=3 C=128
// case i32-b-2x256: TT=i32 G=int32_t USE=B R=2 C=256
// case f32-1x1: TT=f32 G=float USE=Accumulator R=1 C=1
#version 460
#include "matrices2.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(set = 0, binding = 0) readonly buffer I0 { T a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { T b[]; };
layout(set = 0, binding = 2) readonly buffer I2 { int two; int one; };
layout(set = 0, binding = 3) buffer O3 { T place[]; };
layout(set = 0, binding = 4) buffer O4 { T extra[]; };
layout(set = 0, binding = 5) buffer O5 { T choice[]; };
#define M coopmat<T, gl_ScopeSubgroup, ROWS, COLS, MATRIX_USE(USE_)>

struct Pair { int x; int y; };

T byPlace(const in uint32_t row, const in uint32_t col, const in T x)
{
    return T(float(row % 3 + two * (col % 2)) + float(x));
}

int ones(int n)
{
    int sum = 0;
    for (int i = 0; i < n; ++i)
        sum += one;
    return sum;
}

T withMore(const in uint32_t row, const in uint32_t col, const in T x, const in T y, const in int32_t n, const in Pair p)
{
    if (float(x) > 2.0)
        return T(7.0);
    return T(float(x) + float(y) + float(ones(n)) + float(p.x + p.y));
}

T either(const in uint32_t row, const in uint32_t col, const in T x, const in T y)
{
    switch (row % 2) {
    case 0: return y;
    default: return x;
    }
}

void main()
{
    M x, y, r;
    coopMatLoad(x, a, 0, COLS, ROW_MAJOR);
    coopMatLoad(y, b, 0, COLS, ROW_MAJOR);
    coopMatPerElementNV(r, x, byPlace);
    coopMatStore(r, place, 0, COLS, ROW_MAJOR);
    int n = two;
    coopMatPerElementNV(r, x, withMore, y, n, Pair(1, 2));
    coopMatStore(r, extra, 0, COLS, ROW_MAJOR);
    coopMatPerElementNV(x, x, either, y);
    coopMatStore(x, choice, 0, COLS, ROW_MAJOR);
}
