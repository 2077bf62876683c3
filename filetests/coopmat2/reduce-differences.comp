// The order in which reductions combine elements, by differences: of a list whose halves are combined with each other
// until one element is left, an element is taken away once for each bit of its index.
//
// test run
// subgroup 4 32
// spec 0=R 1=C 2=N
// define SCOPE S
// in 0.0 f32 rand R*C 5 -8 8 1
// out 0.1 f32 gen R x N = sum(k, C, (1 - 2 * ((and(k, 1) + and(shr(k, 1), 1) + and(shr(k, 2), 1) + and(shr(k, 3), 1) + and(shr(k, 4), 1) + and(shr(k, 5), 1)) % 2)) * $0.0[r * C + k])
// out 0.2 f32 gen N x C = sum(k, R, (1 - 2 * ((and(k, 1) + and(shr(k, 1), 1) + and(shr(k, 2), 1) + and(shr(k, 3), 1) + and(shr(k, 4), 1) + and(shr(k, 5), 1)) % 2)) * $0.0[k * C + c])
// out 0.3 f32 gen N x N = sum(k, R, sum(n, C, (1 - 2 * ((and(k, 1) + and(shr(k, 1), 1) + and(shr(k, 2), 1) + and(shr(k, 3), 1) + and(shr(k, 4), 1) + and(shr(k, 5), 1) + and(n, 1) + and(shr(n, 1), 1) + and(shr(n, 2), 1) + and(shr(n, 3), 1) + and(shr(n, 4), 1) + and(shr(n, 5), 1)) % 2)) * $0.0[k * C + n]))
//
// keys N=2
// case 1x1: R=1 C=1 N=1 S=gl_ScopeSubgroup
// case 2x2: R=2 C=2 S=gl_ScopeSubgroup
// case 3x7: R=3 C=7 S=gl_ScopeSubgroup
// case 16x8: R=16 C=8 S=gl_ScopeSubgroup
// case 5x33: R=5 C=33 S=gl_ScopeSubgroup
// case 48x1: R=48 C=1 S=gl_ScopeSubgroup
// case 64x64: R=64 C=64 S=gl_ScopeSubgroup
// case 64x64-16: R=64 C=64 N=16 S=gl_ScopeSubgroup
// case 16x8-64: R=16 C=8 N=64 S=gl_ScopeSubgroup
// case 8x16-32: R=8 C=16 N=32 S=gl_ScopeSubgroup
// case 32x64-8: R=32 C=64 N=8 S=gl_ScopeSubgroup
// case 1x64-16: R=1 C=64 N=16 S=gl_ScopeSubgroup
// case 64x32-32: R=64 C=32 N=32 S=gl_ScopeSubgroup
// case workgroup-64x64-32: R=64 C=64 N=32 S=gl_ScopeWorkgroup
// case workgroup-3x7: R=3 C=7 S=gl_ScopeWorkgroup
// case workgroup-32x24: R=32 C=24 S=gl_ScopeWorkgroup
#version 460
#include "matrices2.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(constant_id = 2) const uint N = 1;
layout(set = 0, binding = 0) readonly buffer I0 { float a[]; };
layout(set = 0, binding = 1) buffer O1 { float byRow[]; };
layout(set = 0, binding = 2) buffer O2 { float byColumn[]; };
layout(set = 0, binding = 3) buffer O3 { float all[]; };
#define M(R, C) coopmat<float, SCOPE, R, C, gl_MatrixUseAccumulator>

float subtract(const in float x, const in float y) { return x - y; }

void main()
{
    M(ROWS, COLS) m;
    coopMatLoad(m, a, 0, COLS, ROW_MAJOR);
    M(ROWS, N) rows;
    coopMatReduceNV(rows, m, gl_CooperativeMatrixReduceRowNV, subtract);
    coopMatStore(rows, byRow, 0, N, ROW_MAJOR);
    M(N, COLS) columns;
    coopMatReduceNV(columns, m, gl_CooperativeMatrixReduceColumnNV, subtract);
    coopMatStore(columns, byColumn, 0, COLS, ROW_MAJOR);
    M(N, N) one;
    coopMatReduceNV(one, m, gl_CooperativeMatrixReduceRowAndColumnNV, subtract);
    coopMatStore(one, all, 0, N, ROW_MAJOR);
}
