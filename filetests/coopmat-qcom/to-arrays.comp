// Rows of A and columns of B as arrays of the invocations, of the component type and packed in unsigned integers.
// Invocations beyond the rows or columns get what they get: they write nothing.
//
// test run
// subgroup S
// spec 0=N
// define T GT
// define LEN K
// define LANES S
// in 0.0 TY rand N*K 1 LO HI STEP
// out 0.1 TY gen N*K = $0.0[i]
// out 0.2 TY gen N*K = $0.0[i % K * N + div(i, K)]
// out 0.3 TY gen N*K = $0.0[i]
// out 0.4 TY gen N*K = $0.0[i % K * N + div(i, K)]
// keys LO=-100 HI=100 STEP=0.125
//
// case f32-1: TY=f32 GT=float K=8 S=32 N=1
// case f32-8: TY=f32 GT=float K=8 S=32 N=8
// case f32-32: TY=f32 GT=float K=8 S=32 N=32
// case f16-64: TY=f16 GT=float16_t K=16 S=64 N=64
// case f16-16: TY=f16 GT=float16_t K=16 S=64 N=16
// case f16-31: TY=f16 GT=float16_t K=16 S=32 N=31
// case s8-128: TY=i8 GT=int8_t K=32 S=128 N=128 LO=-128 HI=127 STEP=1
// case s8-32: TY=i8 GT=int8_t K=32 S=128 N=32 LO=-128 HI=127 STEP=1
// case u8-64: TY=u8 GT=uint8_t K=32 S=64 N=64 LO=0 HI=255 STEP=1
// case u8-4: TY=u8 GT=uint8_t K=32 S=4 N=4 LO=0 HI=255 STEP=1
#version 460
#include "qcom.glsl"

layout(local_size_x = LANES) in;
layout(constant_id = 0) const uint N = 1;
layout(set = 0, binding = 0) readonly buffer In { T x[]; };
layout(set = 0, binding = 1) buffer OutA { T a[]; };
layout(set = 0, binding = 2) buffer OutB { T b[]; };
layout(set = 0, binding = 3) buffer OutPackedA { uint packed_a[]; };
layout(set = 0, binding = 4) buffer OutPackedB { uint packed_b[]; };

void main()
{
    const uint lane = gl_SubgroupInvocationID;
    MATRIX(T, N, LEN, A) ma;
    coopMatLoad(ma, x, 0, LEN, ROW_MAJOR);
    MATRIX(T, LEN, N, B) mb;
    coopMatLoad(mb, x, 0, N, ROW_MAJOR);
    T row[LEN];
    T column[LEN];
    uint packed_row[8];
    uint packed_column[8];
    coopmatToVectorQCOM(ma, row);
    coopmatToVectorQCOM(mb, column);
    coopmatToVectorQCOM(ma, packed_row);
    coopmatToVectorQCOM(mb, packed_column);
    if (lane < N) {
        for (uint i = 0; i < LEN; ++i) {
            a[lane * LEN + i] = row[i];
            b[lane * LEN + i] = column[i];
        }
        for (uint i = 0; i < 8; ++i) {
            packed_a[lane * 8 + i] = packed_row[i];
            packed_b[lane * 8 + i] = packed_column[i];
        }
    }
}
