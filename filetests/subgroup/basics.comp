// What an invocation knows of its subgroup, in a work-group of 40, where the last subgroup may be partly filled.
//
// test run
// out 0.0 u32 gen 40 = W
// out 0.1 u32 gen 40 = div(40 + W - 1, W)
// out 0.2 u32 gen 40 = div(i, W)
// out 0.3 u32 gen 40 = i % W
// out 0.4 u32 gen 40 = i % W == 0 ? 1 : 0
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
layout(local_size_x = 40) in;
layout(set = 0, binding = 0) buffer O0 { uint size[]; };
layout(set = 0, binding = 1) buffer O1 { uint count[]; };
layout(set = 0, binding = 2) buffer O2 { uint id[]; };
layout(set = 0, binding = 3) buffer O3 { uint lane[]; };
layout(set = 0, binding = 4) buffer O4 { uint elected[]; };

void main()
{
    uint i = gl_LocalInvocationIndex;
    size[i] = gl_SubgroupSize;
    count[i] = gl_NumSubgroups;
    id[i] = gl_SubgroupID;
    lane[i] = gl_SubgroupInvocationID;
    elected[i] = uint(subgroupElect());
}
