// Parts of arrays: from places that are known, from one that is the same for all invocations and from one that is
// not; at the array's ends and at places that are no multiple of the part's length, which the seed's own example has.
//
// test run
// subgroup 4 32 128
// define T GT
// in 0.0 TY rand 128*32 1 LO HI STEP
// in 0.1 i32 [5]
// out 0.2 TY gen 32*8*5 = $0.0[div(i, 40) * 32 + (div(i, 8) % 5 == 0 ? 0 : div(i, 8) % 5 == 1 ? 24 : div(i, 8) % 5 == 2
//     ? 3 : div(i, 8) % 5 == 3 ? 5 : div(i, 40) % 25) + i % 8]
// keys LO=-1000 HI=1000 STEP=0.5
//
// case f32: TY=f32 GT=float
// case f16: TY=f16 GT=float16_t
// case s32: TY=i32 GT=int STEP=1
// case u32: TY=u32 GT=uint LO=0 STEP=1
#version 460
#include "qcom.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { T x[]; };
layout(set = 0, binding = 1) readonly buffer Place { uint place; };
layout(set = 0, binding = 2) buffer Out { T y[]; };

void main()
{
    const uint id = gl_LocalInvocationIndex;
    T v[32];
    for (uint i = 0; i < 32; ++i)
        v[i] = x[id * 32 + i];
    T parts[5][8];
    extractSubArrayQCOM(v, 0, parts[0]);
    extractSubArrayQCOM(v, 24, parts[1]);
    extractSubArrayQCOM(v, 3, parts[2]);
    extractSubArrayQCOM(v, place, parts[3]);
    extractSubArrayQCOM(v, id % 25, parts[4]);
    for (uint p = 0; p < 5; ++p)
        for (uint i = 0; i < 8; ++i)
            y[(id * 5 + p) * 8 + i] = parts[p][i];
}
