// The order in which reductions combine elements, which sums that are rounded depend on: the halves of a list with each
// other, until one element is left; all by columns first; squares as lists of four.
//
// test run
// subgroup 4 32
// define T G
// define SCOPE S
// in 0.0 TT rand 24 11 -8 8
// out 0.1 TT gen 4 x 3 = TT(TT(TT($0.0[r*6] + $0.0[r*6+4]) + $0.0[r*6+2]) + TT(TT($0.0[r*6+1] + $0.0[r*6+5]) + $0.0[r*6+3]))
// out 0.2 TT gen 5 x 6 = TT(TT($0.0[c] + $0.0[c+12]) + TT($0.0[c+6] + $0.0[c+18]))
// out 0.3 TT gen 2 x 2 = TT(TT(TT(TT(TT($0.0[0] + $0.0[12]) + TT($0.0[6] + $0.0[18])) + TT(TT($0.0[4] + $0.0[16]) + TT($0.0[10] + $0.0[22]))) + TT(TT($0.0[2] + $0.0[14]) + TT($0.0[8] + $0.0[20]))) + TT(TT(TT(TT($0.0[1] + $0.0[13]) + TT($0.0[7] + $0.0[19])) + TT(TT($0.0[5] + $0.0[17]) + TT($0.0[11] + $0.0[23]))) + TT(TT($0.0[3] + $0.0[15]) + TT($0.0[9] + $0.0[21]))))
// out 0.4 TT gen 2 x 3 = TT(TT($0.0[12*r+2*c] + $0.0[12*r+2*c+6]) + TT($0.0[12*r+2*c+1] + $0.0[12*r+2*c+7]))
//
// case bf16: TT=bf16 G=bfloat16_t S=gl_ScopeSubgroup
// case f16: TT=f16 G=float16_t S=gl_ScopeSubgroup
// case f32: TT=f32 G=float S=gl_ScopeSubgroup
// case workgroup-bf16: TT=bf16 G=bfloat16_t S=gl_ScopeWorkgroup
// case workgroup-f16: TT=f16 G=float16_t S=gl_ScopeWorkgroup
// case workgroup-f32: TT=f32 G=float S=gl_ScopeWorkgroup
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer I0 { T a[]; };
layout(set = 0, binding = 1) buffer O1 { T byRow[]; };
layout(set = 0, binding = 2) buffer O2 { T byColumn[]; };
layout(set = 0, binding = 3) buffer O3 { T all[]; };
layout(set = 0, binding = 4) buffer O4 { T squares[]; };
#define M(ROWS, COLS) coopmat<T, SCOPE, ROWS, COLS, gl_MatrixUseAccumulator>

T add(const in T x, const in T y) { return T(float(x) + float(y)); }

void main()
{
    M(4, 6) m;
    coopMatLoad(m, a, 0, 6, ROW_MAJOR);
    M(4, 3) rows;
    coopMatReduceNV(rows, m, gl_CooperativeMatrixReduceRowNV, add);
    coopMatStore(rows, byRow, 0, 3, ROW_MAJOR);
    M(5, 6) columns;
    coopMatReduceNV(columns, m, gl_CooperativeMatrixReduceColumnNV, add);
    coopMatStore(columns, byColumn, 0, 6, ROW_MAJOR);
    M(2, 2) one;
    coopMatReduceNV(one, m, gl_CooperativeMatrixReduceRowAndColumnNV, add);
    coopMatStore(one, all, 0, 2, ROW_MAJOR);
    M(2, 3) quarter;
    coopMatReduceNV(quarter, m, gl_CooperativeMatrixReduce2x2NV, add);
    coopMatStore(quarter, squares, 0, 3, ROW_MAJOR);
}
