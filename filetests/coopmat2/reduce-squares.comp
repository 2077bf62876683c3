// Reductions of squares, and of a kind of number that has no neutral element: the greater by a function with a
// branch; rows of one element, and rows in a loop.
//
// test run
// subgroup 4 32
// spec 0=R 1=C
// define T G
// in 0.0 TT rand R*C 5 -8 8 0.5
// out 0.1 TT gen R/2 x C/2 = max(max($0.0[2*r*C + 2*c], $0.0[2*r*C + 2*c + 1]), max($0.0[2*r*C + C + 2*c], $0.0[2*r*C + C + 2*c + 1]))
// out 0.2 TT gen R*C = 2 * (CMAX)
//
// case f32-2x2: TT=f32 G=float R=2 C=2 CMAX=max($0.0[div(i,C)*C],$0.0[div(i,C)*C+1])
// case f32-4x2: TT=f32 G=float R=4 C=2 CMAX=max($0.0[div(i,C)*C],$0.0[div(i,C)*C+1])
// case f16-16x2: TT=f16 G=float16_t R=16 C=2 CMAX=max($0.0[div(i,C)*C],$0.0[div(i,C)*C+1])
// case f16-66x2: TT=f16 G=float16_t R=66 C=2 CMAX=max($0.0[div(i,C)*C],$0.0[div(i,C)*C+1])
// case f32-10x4: TT=f32 G=float R=10 C=4
//     CMAX=max(max($0.0[div(i,C)*C],$0.0[div(i,C)*C+1]),max($0.0[div(i,C)*C+2],$0.0[div(i,C)*C+3]))
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint ROWS = 2;
layout(constant_id = 1) const uint COLS = 2;
layout(set = 0, binding = 0) readonly buffer I0 { T a[]; };
layout(set = 0, binding = 1) buffer O1 { T squares[]; };
layout(set = 0, binding = 2) buffer O2 { T rows[]; };

const uint HALF_ROWS = ROWS / 2;
const uint HALF_COLS = COLS / 2;

T greater(const in T x, const in T y)
{
    if (x > y)
        return x;
    return y;
}

void main()
{
    MATRIX(T, ROWS, COLS, Accumulator) m;
    coopMatLoad(m, a, 0, COLS, ROW_MAJOR);
    MATRIX(T, HALF_ROWS, HALF_COLS, Accumulator) q;
    coopMatReduceNV(q, m, gl_CooperativeMatrixReduce2x2NV, greater);
    coopMatStore(q, squares, 0, COLS / 2, ROW_MAJOR);
    MATRIX(T, ROWS, COLS, Accumulator) sum = MATRIX(T, ROWS, COLS, Accumulator)(T(0));
    for (int i = 0; i < 2; ++i) {
        MATRIX(T, ROWS, COLS, Accumulator) r;
        coopMatReduceNV(r, m, gl_CooperativeMatrixReduceRowNV, greater);
        sum = sum + r;
    }
    coopMatStore(sum, rows, 0, COLS, ROW_MAJOR);
}
