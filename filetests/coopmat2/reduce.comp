// Reductions of rows, of columns and of all: sums and maxima, where the result has other dimensions, too.
//
// test run
// subgroup 4 32
// spec 0=R 1=C 2=N
// define T G
// in 0.0 TT rand R*C 5 -8 8 1
// out 0.1 TT gen R x N = sum(k, C, $0.0[r * C + k])
// out 0.2 TT gen N x C = sum(k, R, $0.0[k * C + c])
// out 0.3 TT gen N x N = sum(k, R * C, $0.0[k])
// out 0.4 TT gen N x N = 1 + sum(k, R * C, $0.0[k] < 0 ? 1 : 0)
//
// case f32-1x1-1: TT=f32 G=float R=1 C=1 N=1
// case f32-16x16-16: TT=f32 G=float R=16 C=16 N=16
// case f32-3x7-2: TT=f32 G=float R=3 C=7 N=2
// case f32-7x3-5: TT=f32 G=float R=7 C=3 N=5
// case f32-1x33-4: TT=f32 G=float R=1 C=33 N=4
// case f32-33x1-40: TT=f32 G=float R=33 C=1 N=40
// case f32-5x18-18: TT=f32 G=float R=5 C=18 N=18
// case f32-32x8-64: TT=f32 G=float R=32 C=8 N=64
// case f32-64x64-1: TT=f32 G=float R=64 C=64 N=1
// case f32-32x64-16: TT=f32 G=float R=32 C=64 N=16
// case f16-32x64-32: TT=f16 G=float16_t R=32 C=64 N=32
// case f16-64x16-32: TT=f16 G=float16_t R=64 C=16 N=32
// case i32-64x64-64: TT=i32 G=int R=64 C=64 N=64
// case f16-1x1-1: TT=f16 G=float16_t R=1 C=1 N=1
// case f16-3x7-2: TT=f16 G=float16_t R=3 C=7 N=2
// case f16-7x3-5: TT=f16 G=float16_t R=7 C=3 N=5
// case f16-1x33-4: TT=f16 G=float16_t R=1 C=33 N=4
// case f16-33x1-40: TT=f16 G=float16_t R=33 C=1 N=40
// case f16-5x18-18: TT=f16 G=float16_t R=5 C=18 N=18
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(constant_id = 2) const uint N = 1;
layout(set = 0, binding = 0) readonly buffer I0 { T a[]; };
layout(set = 0, binding = 1) buffer O1 { T byRow[]; };
layout(set = 0, binding = 2) buffer O2 { T byColumn[]; };
layout(set = 0, binding = 3) buffer O3 { T all[]; };
layout(set = 0, binding = 4) buffer O4 { T negatives[]; };

T add(const in T x, const in T y) { return x + y; }

T isNegative(const in uint32_t row, const in uint32_t col, const in T x)
{
    return x < T(0) ? T(1) : T(0);
}

void main()
{
    MATRIX(T, ROWS, COLS, Accumulator) m;
    coopMatLoad(m, a, 0, COLS, ROW_MAJOR);
    MATRIX(T, ROWS, N, Accumulator) rows;
    coopMatReduceNV(rows, m, gl_CooperativeMatrixReduceRowNV, add);
    coopMatStore(rows, byRow, 0, N, ROW_MAJOR);
    MATRIX(T, N, COLS, Accumulator) columns;
    coopMatReduceNV(columns, m, gl_CooperativeMatrixReduceColumnNV, add);
    coopMatStore(columns, byColumn, 0, COLS, ROW_MAJOR);
    MATRIX(T, N, N, Accumulator) both;
    coopMatReduceNV(both, m, gl_CooperativeMatrixReduceRowAndColumnNV, add);
    coopMatStore(both, all, 0, N, ROW_MAJOR);
    coopMatPerElementNV(m, m, isNegative);
    coopMatReduceNV(both, m, gl_CooperativeMatrixReduceRowAndColumnNV, add);
    both = both + MATRIX(T, N, N, Accumulator)(1);
    coopMatStore(both, negatives, 0, N, ROW_MAJOR);
}
