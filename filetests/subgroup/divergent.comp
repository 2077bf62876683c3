// Subgroup operations in branches and in loops that invocations leave one by one: only the active ones take part.
//
// test run
// out 0.0 i32 gen 32 = i % 4 == 0 ? sum(k, W / 4, div(i, W) * W + k * 4) : -sum(k, W, (div(i, W) * W + k) % 4 == 0 ? 0 : div(i, W) * W + k)
// out 0.1 u32 gen 32 = sum(t, i % W + 1, W - t)
// case w4: W=4
// subgroup 4
// case w8: W=8
// subgroup 8
// case w32: W=32
// subgroup 32
#version 450
#include "subgroup.glsl"
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer O0 { int sum[]; };
layout(set = 0, binding = 1) buffer O1 { uint counts[]; };

void main()
{
    int i = int(gl_LocalInvocationIndex);
    if ((i & 3) == 0)
        sum[i] = subgroupAdd(i);
    else
        sum[i] = -subgroupAdd(i);
    // In turn t the lanes below t have left.
    uint total = 0;
    for (uint t = 0; t <= gl_SubgroupInvocationID; ++t)
        total += subgroupBallotBitCount(subgroupBallot(true));
    counts[i] = total;
}
