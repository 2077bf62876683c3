// A matrix of the work-group meets memory of all invocations at barriers: all write shared memory, the matrix is
// loaded and stored from there, and all read it; in a loop, with arrays of matrices, in functions.
//
// test run
// dispatch 2 2 1
// spec 0=N
// in 0.0 f16 rand 1024 5 -4 4 1
// in 0.1 f16 rand 1024 6 -4 4 1
// out 0.2 f32 gen 128 x 32 = sum(k, 32, $0.0[r % 32 * 32 + k] * $0.1[k * 32 + c]) * 2 + div(r, 32)
// out 0.3 f32 gen 128 x 32 = sum(k, 32, $0.0[r % 32 * 32 + k] * $0.1[k * 32 + c])
// out 0.4 u32 gen 4 = N * 2
//
// case n256: N=256
// subgroup 4 32
// case n32: N=32
// subgroup 8 32
// case n1024: N=1024
// subgroup 32 128
// case n48: N=48
// subgroup 32
#version 460
#include "matrices2.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint N = 1;
layout(set = 0, binding = 0) readonly buffer I0 { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { float16_t b[]; };
layout(set = 0, binding = 2) buffer O2 { float sums[]; };
layout(set = 0, binding = 3) buffer O3 { float direct[]; };
layout(set = 0, binding = 4) buffer O4 { uint count[]; };
#define M(T, R, C, U) coopmat<T, gl_ScopeWorkgroup, R, C, gl_MatrixUse##U>

shared float16_t tileA[32 * 8];
shared float16_t tileB[8 * 32];
shared float result[32 * 32];
shared uint visits;

M(float, 16, 32, Accumulator) product(M(float16_t, 16, 8, A) x, M(float16_t, 8, 32, B) y, M(float, 16, 32, Accumulator) z)
{
    return coopMatMulAdd(x, y, z);
}

void main()
{
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    M(float, 16, 32, Accumulator) acc[2];
    acc[0] = M(float, 16, 32, Accumulator)(0.0);
    acc[1] = acc[0];
    if (gl_LocalInvocationIndex == N - 1)
        visits = 0;
    for (uint k = 0; k < 32; k += 8) {
        barrier();
        for (uint i = gl_LocalInvocationIndex; i < 256; i += N) {
            tileA[i] = a[i / 8 * 32 + k + i % 8];
            tileB[i] = b[(k + i / 32) * 32 + i % 32];
        }
        barrier();
        M(float16_t, 8, 32, B) y;
        coopMatLoad(y, tileB, 0, 32, ROW_MAJOR);
        for (uint i = 0; i < 2; ++i) {
            M(float16_t, 16, 8, A) x;
            coopMatLoad(x, tileA, i * 16 * 8, 8, ROW_MAJOR);
            acc[i] = product(x, y, acc[i]);
        }
    }
    for (uint i = 0; i < 2; ++i) {
        coopMatStore(acc[i], result, i * 16 * 32, 32, ROW_MAJOR);
        coopMatStore(acc[i], direct, (group * 32 + i * 16) * 32, 32, ROW_MAJOR);
    }
    atomicAdd(visits, 1);
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < 1024; i += N)
        sums[group * 1024 + i] = 2.0 * result[i] + float(group);
    if (gl_LocalInvocationIndex == 0)
        count[group] = visits + N;
}
