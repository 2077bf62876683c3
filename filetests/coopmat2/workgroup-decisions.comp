// All invocations of a work-group decide by components of its matrices: by the maximum, which each of them has as its
// component 0, and by components of their own between operations on whole matrices.
//
// test run
// spec 2=N
// in 0.0 f32 gen 16 x 32 = i % 37 - 10
// out 0.1 u32 gen N = 4
// out 0.2 f32 gen 16 x 32 = (i % 37 - 10) / 16
// out 0.3 f32 gen N = (i % 4) * (i % 37 - 10) + (i % 4) * (i % 4 + 1) / 2 + 100 * (3 - i % 4) + (3 - i % 4) * (4 - i % 4) / 2
// out 0.4 f32 gen 16 x 32 = i < N ? 100 + 3 - i % 4 : i % 37 - 6
//
// case w32-n256: N=256
// subgroup 32
// case w8-n32: N=32
// subgroup 8
// case w16-n512: N=512
// subgroup 16
// case w64-n40: N=40
// subgroup 64
#version 460
#include "matrices2.glsl"

layout(local_size_x_id = 2) in;
layout(constant_id = 2) const uint N = 1;
layout(set = 0, binding = 0) readonly buffer I0 { float a[]; };
layout(set = 0, binding = 1) buffer O1 { uint rounds[]; };
layout(set = 0, binding = 2) buffer O2 { float scaled[]; };
layout(set = 0, binding = 3) buffer O3 { float totals[]; };
layout(set = 0, binding = 4) buffer O4 { float counted[]; };
#define M coopmat<float, gl_ScopeWorkgroup, 16, 32, gl_MatrixUseAccumulator>

float greater(const in float x, const in float y) { return max(x, y); }

void main()
{
    uint l = gl_LocalInvocationIndex;
    M x, y, top;
    coopMatLoad(x, a, 0, 32, ROW_MAJOR);
    y = x;

    // Halved until nothing exceeds 2: 26, 13, 6.5, 3.25, 1.625.
    uint n = 0;
    coopMatReduceNV(top, x, gl_CooperativeMatrixReduceRowAndColumnNV, greater);
    while (top[0] > 2.0) {
        x = x * 0.5;
        coopMatReduceNV(top, x, gl_CooperativeMatrixReduceRowAndColumnNV, greater);
        ++n;
    }
    rounds[l] = n;
    coopMatStore(x, scaled, 0, 32, ROW_MAJOR);

    // Invocations go on to the next round at different places.
    float total = 0.0;
    for (uint i = 0; i < 4; ++i) {
        y = y + M(1.0);
        if (l % 4 == i) {
            y[0] = 100.0;
            continue;
        }
        total += y[0];
    }
    totals[l] = total;
    coopMatStore(y, counted, 0, 32, ROW_MAJOR);
}
