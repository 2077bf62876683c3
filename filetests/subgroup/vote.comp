// Votes over all, over some, and over the active invocations of a divergent branch.
//
// test run
// out 0.0 u32 gen 128 = (W == 4 ? (i < 4 ? 1 : 0) : 0) + (div(i, W) == 0 ? 2 : 0) + 4
// out 0.1 u32 gen 128 = i % 2 == 1 ? 1 + 2 : 4
// case w4: W=4
// subgroup 4
// case w8: W=8
// subgroup 8
// case w16: W=16
// subgroup 16
// case w32: W=32
// subgroup 32
// case w64: W=64
// subgroup 64
// case w128: W=128
// subgroup 128
#version 450
#include "subgroup.glsl"
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) buffer O0 { uint whole[]; };
layout(set = 0, binding = 1) buffer O1 { uint branch[]; };

void main()
{
    uint i = gl_LocalInvocationIndex;
    bool first = i < 4;
    whole[i] = uint(subgroupAll(first)) + 2 * uint(subgroupAny(first)) + 4 * uint(subgroupAllEqual(gl_SubgroupID * 7));
    if ((i & 1u) == 1u)
        branch[i] = uint(subgroupAll((i & 1u) == 1u)) + 2 * uint(subgroupAllEqual(i & 1u)) + 4 * uint(subgroupAny(i > 1000u));
    else
        branch[i] = uint(subgroupAllEqual(i)) + 2 * uint(subgroupAll(i > 1000u)) + 4 * uint(subgroupAllEqual(vec2(i & 1u, 3)));
}
