// Matrix operations under conditions that are the same for the whole subgroup: branches on subgroup and work-group ids,
// loops with a break, a switch, an early return, and divergent code of single invocations in between.
//
// test run
// dispatch 3 1 1
// in 0.0 f32 ramp 64
// inout 0.1 f32 fill 768 -1
// out 0.1 f32 gen 12 x 64 = r >= 3 * div(64, W) ? -1 :
//     div(r, div(64, W)) == 2 ? -1 :
//     r % div(64, W) == 0 ? (div(r, div(64, W)) + 1) * c + 3 :
//     r % div(64, W) == 1 ? 100 - c + 3 : (c + 3) * 4
// case w32: W=32
// subgroup 32
// case w16: W=16
// subgroup 16
#version 460
#include "matrices.glsl"

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer Out { float b[]; };
#define M MATRIX(float, 8, 8, Accumulator)

void main()
{
    M m, sum = M(0.0);
    coopMatLoad(m, a, 0, 8, ROW_MAJOR);
    switch (gl_SubgroupID) {
    case 0:
        for (uint t = 0; t < 10; ++t) {
            if (t > gl_WorkGroupID.x)
                break;
            sum = sum + m;
        }
        break;
    case 1:
        sum = M(100.0) - m;
        break;
    default:
        sum = m;
        sum = sum + sum + sum;
        sum = sum + m + M(9.0);
    }
    if (gl_WorkGroupID.x == 2)
        return;
    // Every component gets 3 more, in turns that take different numbers of steps.
    for (uint i = 0; i < sum.length(); ++i) {
        uint steps = gl_SubgroupInvocationID % 3;
        for (uint s = 0; s < steps; ++s)
            sum[i] += 1.0;
        if (steps < 3)
            sum[i] += float(3 - steps);
    }
    uint row = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID;
    coopMatStore(sum, b, row * 64, 8, ROW_MAJOR);
}
