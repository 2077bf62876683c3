// Components are the one thing that may be touched in divergent code: only some invocations write theirs, in a loop
// whose length differs, and read them back.
//
// test run
// subgroup 32
// in 0.0 f32 ramp 256
// out 0.1 f32 gen 256 = i % 32 % 3 == 0 ? -1 - i : div(i, 32) < i % 32 % 4 ? i * 2 : i
// gpu f32 gen 16 x 16 = LANE % 3 == 0 ? -1 - i : COMPONENT < LANE % 4 ? i * 2 : i
// out 0.2 f32 gen 32 = i % 3 == 0 ? -8 - i * 8 - 896 : 8 * i + 896 + sum(k, i % 4, k * 32 + i)
// gpu f32 gen 32 = i % 3 == 0 ? -8 - sum(k, 8, ELEMENT) : sum(k, 8, ELEMENT) + sum(k, i % 4, ELEMENT)
// case f32: LANE=(r%8*4+div(c,2)%4) COMPONENT=(div(r,8)*4+div(c,8)*2+c%2)
//     ELEMENT=((div(i,4)+8*div(k,4))*16+i%4*2+8*(div(k,2)%2)+k%2)
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer Out { float b[]; };
layout(set = 0, binding = 2) buffer Sums { float sums[]; };

void main()
{
    uint lane = gl_SubgroupInvocationID;
    MATRIX(float, 16, 16, Accumulator) m;
    coopMatLoad(m, a, 0, 16, ROW_MAJOR);
    if (lane % 3 == 0) {
        for (uint i = 0; i < m.length(); ++i)
            m[i] = -1.0 - m[i];
    } else {
        for (uint i = 0; i < lane % 4; ++i)
            m[i] *= 2.0;
    }
    float sum = 0.0;
    for (int i = 0; i < m.length(); ++i)
        sum += m[i];
    sums[lane] = sum;
    coopMatStore(m, b, 0, 16, ROW_MAJOR);
}
