// Large matrices of the work-group: they lie in memory, not on the stacks of its subgroups.
//
// test run
// subgroup 32
// spec 0=R
// in 0.0 f16 rand R*4 5 -4 4 1
// in 0.1 f16 rand R*4 6 -4 4 1
// out 0.2 f32 gen R x R = $0.0[r*4] * $0.1[c] + $0.0[r*4+1] * $0.1[R+c] + $0.0[r*4+2] * $0.1[2*R+c] + $0.0[r*4+3] * $0.1[3*R+c]
// out 0.3 f16 gen R x R = $0.0[c*4] * $0.1[r] + $0.0[c*4+1] * $0.1[R+r] + $0.0[c*4+2] * $0.1[2*R+r] + $0.0[c*4+3] * $0.1[3*R+r]
//
// case 256: R=256
// case 1024: R=1024
#version 460
#include "matrices2.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint R = 1;
layout(set = 0, binding = 0) readonly buffer I0 { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { float16_t b[]; };
layout(set = 0, binding = 2) buffer O2 { float product[]; };
layout(set = 0, binding = 3) buffer O3 { float16_t turned[]; };
#define M(T, R, C, U) coopmat<T, gl_ScopeWorkgroup, R, C, gl_MatrixUse##U>

void main()
{
    M(float16_t, R, 4, A) x;
    M(float16_t, 4, R, B) y;
    coopMatLoad(x, a, 0, 4, ROW_MAJOR);
    coopMatLoad(y, b, 0, R, ROW_MAJOR);
    M(float, R, R, Accumulator) sum[2];
    sum[0] = M(float, R, R, Accumulator)(0);
    sum[1] = coopMatMulAdd(x, y, sum[0]);
    // Those of subgroups but the first are padding.
    for (int i = 0; i < 2; ++i)
        sum[1][i] += 0.0;
    coopMatStore(sum[1], product, 0, R, ROW_MAJOR);
    barrier();
    M(float16_t, R, R, B) t;
    coopMatTransposeNV(t, M(float16_t, R, R, Accumulator)(sum[1]));
    coopMatStore(t, turned, 0, R, ROW_MAJOR);
}
