// A work-group of 21 leaves the last subgroup partly filled: the lanes that are missing take no part.
//
// test run
// dispatch 2 1 1
// out 0.0 i32 gen 42 = sum(k, min(W, 21 - div(i % 21, W) * W), div(i % 21, W) * W + k)
// out 0.1 u32 gen 42 = min(W, 21 - div(i % 21, W) * W)
// out 0.2 u32 gen 42 = min(W, 21 - div(i % 21, W) * W) - 1
// out 0.3 u32 gen 42 = 1
// case w4: W=4
// subgroup 4
// case w8: W=8
// subgroup 8
// case w16: W=16
// subgroup 16
// case w32: W=32
// subgroup 32
// case w128: W=128
// subgroup 128
#version 450
#include "subgroup.glsl"
layout(local_size_x = 21) in;
layout(set = 0, binding = 0) buffer O0 { int sum[]; };
layout(set = 0, binding = 1) buffer O1 { uint count[]; };
layout(set = 0, binding = 2) buffer O2 { uint last[]; };
layout(set = 0, binding = 3) buffer O3 { uint all[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    sum[i] = subgroupAdd(int(gl_LocalInvocationIndex));
    uvec4 active_ = subgroupBallot(true);
    count[i] = subgroupBallotBitCount(active_);
    last[i] = subgroupBallotFindMSB(active_);
    all[i] = uint(subgroupAll(true));
}
