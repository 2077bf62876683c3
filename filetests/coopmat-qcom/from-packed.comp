// Eight unsigned integers of each invocation as a row of A or a column of B: the bytes of the row, the first
// component lowest.
//
// test run
// subgroup S
// spec 0=N
// define T GT
// define LEN K
// define LANES S
// in 0.0 TY rand S*K 3 LO HI STEP
// out 0.1 TY gen N*K = $0.0[i]
// out 0.2 TY gen N*K = $0.0[i]
// keys LO=-100 HI=100 STEP=0.125
//
// case f32: TY=f32 GT=float K=8 S=64 N=64
// case f16-1: TY=f16 GT=float16_t K=16 S=32 N=1
// case f16: TY=f16 GT=float16_t K=16 S=64 N=64
// case s8: TY=i8 GT=int8_t K=32 S=128 N=128 LO=-128 HI=127 STEP=1
// case s8-half: TY=i8 GT=int8_t K=32 S=64 N=32 LO=-128 HI=127 STEP=1
// case u8: TY=u8 GT=uint8_t K=32 S=32 N=32 LO=0 HI=255 STEP=1
// case u8-3: TY=u8 GT=uint8_t K=32 S=8 N=3 LO=0 HI=255 STEP=1
#version 460
#include "qcom.glsl"

layout(local_size_x = LANES) in;
layout(constant_id = 0) const uint N = 1;
layout(set = 0, binding = 0) readonly buffer In { uint x[]; };
layout(set = 0, binding = 1) buffer OutA { T a[]; };
layout(set = 0, binding = 2) buffer OutB { T b[]; };

void main()
{
    uint v[8];
    for (uint i = 0; i < 8; ++i)
        v[i] = x[gl_SubgroupInvocationID * 8 + i];
    MATRIX(T, N, LEN, A) ma;
    vectorToCoopmatQCOM(v, ma);
    coopMatStore(ma, a, 0, LEN, ROW_MAJOR);
    MATRIX(T, LEN, N, B) mb;
    vectorToCoopmatQCOM(v, mb);
    coopMatStore(mb, b, 0, LEN, COL_MAJOR);
}
