// A matrix of the work-group whose scratch memory may be more than the work-groups of a GPU share: then it lies
// elsewhere, for each work-group by itself.
//
// test run
// subgroup 32
// dispatch 3 1 1
// in 0.0 f32 rand 3*256*256 5 -8 8 1
// out 0.1 f32 gen 3 x 256 = sum(k, 256, $0.0[(r * 256 + k) * 256 + c])
#version 460
#include "matrices2.glsl"

layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer I0 { float a[]; };
layout(set = 0, binding = 1) buffer O1 { float sums[]; };
#define M(R, C) coopmat<float, gl_ScopeWorkgroup, R, C, gl_MatrixUseAccumulator>

float add(const in float x, const in float y) { return x + y; }

void main()
{
    const uint group = gl_WorkGroupID.x;
    M(256, 256) m;
    coopMatLoad(m, a, group * 256 * 256, 256, gl_CooperativeMatrixLayoutRowMajor);
    M(1, 256) columns;
    coopMatReduceNV(columns, m, gl_CooperativeMatrixReduceColumnNV, add);
    coopMatStore(columns, sums, group * 256, 256, gl_CooperativeMatrixLayoutRowMajor);
}
