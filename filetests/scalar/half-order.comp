// Orders of halves that have been spilled, under a mask: the matrix makes a call between the load and the comparisons.
//
// test run
// subgroup 4 8 16 32 64
// isa all
// in 0.0 f16 [1 20000 -0.0 nan -inf inf 10000 9992  -20000 0.5 0.0 10008 nan 65504 -65504 2] f16 [1*16]
// push u32 [3]
// out 0.1 u32 [3 12 3 0 3 12 10 3  3 3 3 12 0 12 3 3]
#version 460
#include "../coopmat/matrices.glsl"

layout(local_size_x = 16) in;
layout(push_constant) uniform Push { uint rounds; };
layout(set = 0, binding = 0) readonly buffer In { float16_t x[]; } values;
layout(set = 0, binding = 1) buffer Out { uint x[]; } flags;
shared float16_t tile[16];

void main()
{
    const float16_t x = values.x[gl_LocalInvocationIndex];
    MATRIX(float16_t, 4, 4, Accumulator) m;
    coopMatLoad(m, values.x, 16, 4, ROW_MAJOR);
    bool less = false, lessOrEqual = false, greater = false, greaterOrEqual = false;
    for (uint i = 0; i < rounds; i++) {
        m += m;
        // A condition that each invocation has for itself.
        if (i >= (gl_LocalInvocationIndex & 1)) {
            less = x < float16_t(10000.0);
            lessOrEqual = x <= float16_t(10000.0);
            greater = x > float16_t(10000.0);
            greaterOrEqual = x >= float16_t(10000.0);
        }
    }
    coopMatStore(m, tile, 0, 4, ROW_MAJOR);
    flags.x[gl_LocalInvocationIndex] = uint(less) | uint(lessOrEqual) << 1 | uint(greater) << 2 | uint(greaterOrEqual) << 3;
}
