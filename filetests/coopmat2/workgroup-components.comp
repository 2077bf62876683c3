// Components of a matrix of the work-group: component i of invocation l of the first subgroup is the row-major element
// i * W + l (docs/ir.md); other subgroups have as many, and theirs are padding, which reads as zero.
//
// test run
// spec 0=ROWS 1=COLS 2=N
// define T G
// define USE_ USE
// in 0.0 TT rand ROWS*COLS 6 0 30 1
// out 0.1 TT gen ROWS*COLS = $0.0[i] + i % W + div(i, W)
// out 0.2 u32 gen N = div(ROWS * COLS + W - 1, W)
// out 0.3 TT gen N = i < W && i < ROWS * COLS ? $0.0[i] : 0
// out 0.4 TT gen ROWS*COLS = i % W
// out 0.5 TT gen ROWS*COLS = div(i, W) == 1 && i % W % 2 == 1 ? i % W + 3 : $0.0[i]
// out 0.6 TT gen ROWS*COLS = $0.0[i] * (i % W % 3)
//
// case f16-w32-n256: TT=f16 G=float16_t ROWS=16 COLS=16 W=32 N=256 USE=A
// subgroup 32
// case f16-b-w4-n32: TT=f16 G=float16_t ROWS=16 COLS=8 W=4 N=32 USE=B
// subgroup 4
// case f32-acc-w8-n1024: TT=f32 G=float ROWS=5 COLS=7 W=8 N=1024 USE=Accumulator
// subgroup 8
// case i8-w16-n128: TT=i8 G=int8_t ROWS=12 COLS=5 W=16 N=128 USE=B
// subgroup 16
// case u16-w64-n64: TT=u16 G=uint16_t ROWS=20 COLS=20 W=64 N=64 USE=A
// subgroup 64
// case i32-w128-n512: TT=i32 G=int ROWS=64 COLS=32 W=128 N=512 USE=Accumulator
// subgroup 128
// case f32-w32-n72: TT=f32 G=float ROWS=9 COLS=31 W=32 N=72 USE=Accumulator
// subgroup 32
#version 460
#include "matrices2.glsl"

layout(local_size_x_id = 2) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(set = 0, binding = 0) readonly buffer I0 { T a[]; };
layout(set = 0, binding = 1) buffer O1 { T all[]; };
layout(set = 0, binding = 2) buffer O2 { uint lengths[]; };
layout(set = 0, binding = 3) buffer O3 { T firsts[]; };
layout(set = 0, binding = 4) buffer O4 { T splat[]; };
layout(set = 0, binding = 5) buffer O5 { T some[]; };
layout(set = 0, binding = 6) buffer O6 { T scaled[]; };
#define M coopmat<T, gl_ScopeWorkgroup, ROWS, COLS, MATRIX_USE(USE_)>

// The components are read in a function, through its parameter.
T first(M m) { return m[0]; }

void main()
{
    uint l = gl_LocalInvocationIndex, lane = gl_SubgroupInvocationID;
    M m;
    coopMatLoad(m, a, 0, COLS, ROW_MAJOR);
    lengths[l] = m.length();
    firsts[l] = first(m);
    M n = m;
    for (int i = 0; i < n.length(); ++i)
        n[i] = T(float(n[i]) + float(lane) + float(i));
    coopMatStore(n, all, 0, COLS, ROW_MAJOR);
    coopMatStore(M(T(lane)), splat, 0, COLS, ROW_MAJOR);
    // In some invocations only.
    M s = m;
    if (l % 2 == 1 && s.length() > 1)
        s[1] = T(lane + 3);
    coopMatStore(s, some, 0, COLS, ROW_MAJOR);
    coopMatStore(m * T(lane % 3), scaled, 0, COLS, ROW_MAJOR);
}
