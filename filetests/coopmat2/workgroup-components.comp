// Components of a matrix of the work-group: component i of invocation l of N is the row-major element i * N + l on a CPU
// (docs/ir.md); where there is no such element it is padding, which reads as zero. On a GPU a work-group of one warp has
// what its lanes hold of a fragment.
//
// test run
// spec 0=ROWS 1=COLS 2=N
// define T G
// define USE_ USE
// keys LANE=(i%N) COMPONENT=(div(i,N)) HELD=(k*N+i<ROWS*COLS?$0.0[min(k*N+i,ROWS*COLS-1)]:0)
// keys FIRST=(i<ROWS*COLS?$0.0[min(i,ROWS*COLS-1)]:0)
// in 0.0 TT rand ROWS*COLS 6 0 30 1
// out 0.1 TT gen ROWS*COLS = $0.0[i] + i % N % 8 + div(i, N)
// gpu TT gen ROWS x COLS = $0.0[i] + LANE % 8 + COMPONENT
// out 0.2 u32 gen N = div(ROWS * COLS + N - 1, N)
// out 0.3 TT gen N = i < ROWS * COLS ? $0.0[min(i, ROWS * COLS - 1)] : 0
// gpu TT gen N = FIRST
// out 0.4 TT gen N = i < ROWS * COLS && $0.0[min(i, ROWS * COLS - 1)] > 12 ? 7 : 3
// gpu TT gen N = FIRST > 12 ? 7 : 3
// out 0.5 TT gen ROWS*COLS = div(i, N) == 0 && i % 2 == 1 ? i % 8 + 3 : $0.0[i]
// gpu TT gen ROWS x COLS = COMPONENT == 0 && LANE % 2 == 1 ? LANE % 8 + 3 : $0.0[i]
// out 0.6 TT gen N = i < 3 ? 0 : sum(k, div(ROWS * COLS + N - 1, N), k * N + i < ROWS * COLS ? $0.0[min(k * N + i, ROWS * COLS - 1)] : 0)
// gpu TT gen N = i < 3 ? 0 : sum(k, div(ROWS * COLS + N - 1, N), HELD)
// out 0.7 TT gen ROWS*COLS = i % N % 8 + 1
// gpu TT gen ROWS x COLS = LANE % 8 + 1
// out 0.8 TT gen ROWS*COLS = $0.0[i] * (i % N % 3)
// gpu TT gen ROWS x COLS = $0.0[i] * (LANE % 3)
// out 0.9 TT gen ROWS*COLS = $0.0[i] * 3
// out 0.10 TT gen ROWS*COLS = $0.0[i] + i % N % 2
// gpu TT gen ROWS x COLS = $0.0[i] + LANE % 2
//
// case f16-w32-n32: TT=f16 G=float16_t ROWS=16 COLS=16 N=32 USE=A
//     LANE=(r%8*4+div(c,2)%4) COMPONENT=(div(r,8)*4+div(c,8)*2+c%2) FIRST=$0.0[div(i,4)*16+i%4*2]
//     HELD=$0.0[(div(i,4)+8*div(k,4))*16+i%4*2+8*(div(k,2)%2)+k%2]
// subgroup 32
// case f16-w32-n256: TT=f16 G=float16_t ROWS=16 COLS=16 N=256 USE=A
// subgroup 32
// case f16-b-w4-n32: TT=f16 G=float16_t ROWS=16 COLS=8 N=32 USE=B
// subgroup 4
// case f32-acc-w8-n1024: TT=f32 G=float ROWS=5 COLS=7 N=1024 USE=Accumulator
// subgroup 8
// case i8-w16-n128: TT=i8 G=int8_t ROWS=12 COLS=5 N=128 USE=B
// subgroup 16
// case u16-w64-n64: TT=u16 G=uint16_t ROWS=20 COLS=20 N=64 USE=A
// subgroup 64
// case i32-w128-n512: TT=i32 G=int ROWS=64 COLS=32 N=512 USE=Accumulator
// subgroup 128
// case f32-w32-n72: TT=f32 G=float ROWS=9 COLS=31 N=72 USE=Accumulator
// subgroup 32
// case i32-w64-n20: TT=i32 G=int ROWS=9 COLS=11 N=20 USE=Accumulator
// subgroup 64
#version 460
#include "matrices2.glsl"

layout(local_size_x_id = 2) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(set = 0, binding = 0) readonly buffer I0 { T a[]; };
layout(set = 0, binding = 1) buffer O1 { T all[]; };
layout(set = 0, binding = 2) buffer O2 { uint lengths[]; };
layout(set = 0, binding = 3) buffer O3 { T firsts[]; };
layout(set = 0, binding = 4) buffer O4 { T chosen[]; };
layout(set = 0, binding = 5) buffer O5 { T some[]; };
layout(set = 0, binding = 6) buffer O6 { T sums[]; };
layout(set = 0, binding = 7) buffer O7 { T splat[]; };
layout(set = 0, binding = 8) buffer O8 { T scaled[]; };
layout(set = 0, binding = 9) buffer O9 { T tripled[]; };
layout(set = 0, binding = 10) buffer O10 { T odd[]; };
#define M coopmat<T, gl_ScopeWorkgroup, ROWS, COLS, MATRIX_USE(USE_)>

// The components are read in a function, through its parameter.
T first(M m) { return m[0]; }

void main()
{
    uint l = gl_LocalInvocationIndex;
    M m;
    coopMatLoad(m, a, 0, COLS, ROW_MAJOR);
    lengths[l] = m.length();
    firsts[l] = first(m);
    M n = m;
    for (int i = 0; i < n.length(); ++i)
        n[i] = T(float(n[i]) + float(l % 8) + float(i));
    coopMatStore(n, all, 0, COLS, ROW_MAJOR);
    // In some invocations only.
    M s = m;
    if (l % 2 == 1)
        s[0] = T(l % 8 + 3);
    coopMatStore(s, some, 0, COLS, ROW_MAJOR);
    M o = m;
    if (l % 2 == 1) {
        for (int i = 0; i < o.length(); ++i)
            o[i] = T(o[i] + T(1));
    }
    coopMatStore(o, odd, 0, COLS, ROW_MAJOR);
    // Scalars that invocations have each of its own, and one that all have alike.
    coopMatStore(M(T(l % 8 + 1)), splat, 0, COLS, ROW_MAJOR);
    coopMatStore(m * T(l % 3), scaled, 0, COLS, ROW_MAJOR);
    coopMatStore(m * T(gl_NumWorkGroups.x * 3), tripled, 0, COLS, ROW_MAJOR);
    // Nobody needs the whole matrix again, and some invocations leave.
    chosen[l] = m[0] > T(12) ? T(7) : T(3);
    sums[l] = T(0);
    if (l < 3)
        return;
    T sum = T(0);
    for (int i = 0; i < m.length(); ++i)
        sum = T(sum + m[i]);
    sums[l] = sum;
}
