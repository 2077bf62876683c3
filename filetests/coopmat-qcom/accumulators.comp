// Accumulators of N, N/2 and N/4 columns, N the subgroup's size: from arrays and to arrays, of the component type and
// of unsigned integers (N/2 of them for f16).
//
// test run
// subgroup S
// define T GT
// define LANES S
// define M ROWS
// define N COLS
// define PACKED N/PER
// in 0.0 TY rand S*COLS 1 LO HI STEP
// out 0.1 TY gen ROWS*COLS = $0.0[i]
// out 0.2 TY gen ROWS*COLS = $0.0[i]
// out 0.3 TY gen ROWS*COLS = $0.0[i]
// out 0.4 TY gen ROWS*COLS = $0.0[i]
// keys LO=-1000 HI=1000 STEP=0.5 PER=1
//
// case f32-32: TY=f32 GT=float S=32 ROWS=32 COLS=32
// case f32-32-half: TY=f32 GT=float S=32 ROWS=16 COLS=16
// case f32-32-quarter: TY=f32 GT=float S=32 ROWS=32 COLS=8
// case f32-64: TY=f32 GT=float S=64 ROWS=64 COLS=64
// case f32-128-quarter: TY=f32 GT=float S=128 ROWS=128 COLS=32
// case f16-32: TY=f16 GT=float16_t S=32 ROWS=32 COLS=32 PER=2
// case f16-64-half: TY=f16 GT=float16_t S=64 ROWS=64 COLS=32 PER=2
// case f16-64-quarter: TY=f16 GT=float16_t S=64 ROWS=1 COLS=16 PER=2
// case f16-128: TY=f16 GT=float16_t S=128 ROWS=64 COLS=128 PER=2
// case s32-32: TY=i32 GT=int S=32 ROWS=32 COLS=32 STEP=1
// case s32-64-half: TY=i32 GT=int S=64 ROWS=16 COLS=32 STEP=1
// case u32-64: TY=u32 GT=uint S=64 ROWS=64 COLS=64 LO=0 STEP=1
// case u32-128-quarter: TY=u32 GT=uint S=128 ROWS=8 COLS=32 LO=0 STEP=1
#version 460
#include "qcom.glsl"

layout(local_size_x = LANES) in;
layout(set = 0, binding = 0) readonly buffer In { T x[]; };
layout(set = 0, binding = 0) readonly buffer InPacked { uint px[]; };
layout(set = 0, binding = 1) buffer OutA { T a[]; };
layout(set = 0, binding = 2) buffer OutB { T b[]; };
layout(set = 0, binding = 3) buffer OutC { T c[]; };
layout(set = 0, binding = 4) buffer OutD { uint d[]; };

void main()
{
    const uint lane = gl_SubgroupInvocationID;
    T v[N];
    uint p[PACKED];
    for (uint i = 0; i < N; ++i)
        v[i] = x[lane * N + i];
    for (uint i = 0; i < PACKED; ++i)
        p[i] = px[lane * (PACKED) + i];
    MATRIX(T, M, N, Accumulator) m;
    vectorToCoopmatQCOM(v, m);
    coopMatStore(m, a, 0, N, ROW_MAJOR);
    MATRIX(T, M, N, Accumulator) mp;
    vectorToCoopmatQCOM(p, mp);
    coopMatStore(mp, b, 0, N, ROW_MAJOR);

    T w[N];
    uint q[PACKED];
    coopmatToVectorQCOM(mp, w);
    coopmatToVectorQCOM(m, q);
    if (lane < M) {
        for (uint i = 0; i < N; ++i)
            c[lane * N + i] = w[i];
        for (uint i = 0; i < PACKED; ++i)
            d[lane * (PACKED) + i] = q[i];
    }
}
