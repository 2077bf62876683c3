// The operations on whole matrices, on matrices of the work-group.
//
// test run
// spec 0=N
// in 0.0 f32 rand 160 5 -8 8 1
// out 0.1 f32 gen 16 x 10 = 2 * $0.0[i] + r - c
// out 0.2 f32 gen 16 x 3 = sum(k, 10, $0.0[r * 10 + k])
// out 0.3 f32 gen 2 x 10 = sum(k, 16, $0.0[k * 10 + c])
// out 0.4 f32 gen 10 x 16 = $0.0[c * 10 + r]
// out 0.5 f32 gen 16 x 10 = r < 14 && c < 8 ? $0.0[(r + 2) * 10 + c + 2] : 0.5
// out 0.6 f32 gen 8 x 5 = $0.0[20*r+2*c] + $0.0[20*r+2*c+1] + $0.0[20*r+2*c+10] + $0.0[20*r+2*c+11]
//
// case n64: N=64
// subgroup 4 32 64
// case n32: N=32
// subgroup 8 32
// case n256: N=256
// subgroup 16 32
// case n1024: N=1024
// subgroup 32 128
// case n40: N=40
// subgroup 32
#version 460
#include "matrices2.glsl"

layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0) readonly buffer I0 { float a[]; };
layout(set = 0, binding = 1) buffer O1 { float mapped[]; };
layout(set = 0, binding = 2) buffer O2 { float rows[]; };
layout(set = 0, binding = 3) buffer O3 { float columns[]; };
layout(set = 0, binding = 4) buffer O4 { float turned[]; };
layout(set = 0, binding = 5) buffer O5 { float sliced[]; };
layout(set = 0, binding = 6) buffer O6 { float squares[]; };
#define M(R, C, U) coopmat<float, gl_ScopeWorkgroup, R, C, gl_MatrixUse##U>

float add(const in float x, const in float y) { return x + y; }

float map(const in uint32_t row, const in uint32_t col, const in float x, const in float y)
{
    return x + y + float(row) - float(col);
}

void main()
{
    M(16, 10, Accumulator) m, r;
    coopMatLoad(m, a, 0, 10, ROW_MAJOR);
    coopMatPerElementNV(r, m, map, m);
    coopMatStore(r, mapped, 0, 10, ROW_MAJOR);
    M(16, 3, Accumulator) x;
    coopMatReduceNV(x, m, gl_CooperativeMatrixReduceRowNV, add);
    coopMatStore(x, rows, 0, 3, ROW_MAJOR);
    M(2, 10, Accumulator) y;
    coopMatReduceNV(y, m, gl_CooperativeMatrixReduceColumnNV, add);
    coopMatStore(y, columns, 0, 10, ROW_MAJOR);
    M(10, 16, B) t;
    coopMatTransposeNV(t, m);
    coopMatStore(t, turned, 0, 16, ROW_MAJOR);
    tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> l = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    l = setTensorLayoutClampValueNV(l, 0x3f000000);
    l = setTensorLayoutDimensionNV(l, 16, 10);
    coopMatLoadTensorNV(r, a, 0, sliceTensorLayoutNV(l, 2, 16, 2, 10));
    coopMatStoreTensorNV(r, sliced, 0, l);
    M(8, 5, Accumulator) q;
    coopMatReduceNV(q, m, gl_CooperativeMatrixReduce2x2NV, add);
    coopMatStore(q, squares, 0, 5, ROW_MAJOR);
}
