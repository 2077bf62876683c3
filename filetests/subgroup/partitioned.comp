// Partitions by value: the invocations with the same i mod 3 form one, and reduce and scan among themselves.
//
// test run
// out 0.0 u32 gen 128 = sum(k, W, (div(i, W) * W + k) % 3 == i % 3 ? 1 : 0)
// out 0.1 i32 gen 128 = sum(k, W, (div(i, W) * W + k) % 3 == i % 3 ? div(i, W) * W + k : 0)
// out 0.2 i32 gen 128 = sum(k, i % W + 1, (div(i, W) * W + k) % 3 == i % 3 ? div(i, W) * W + k : 0)
// out 0.3 i32 gen 128 = sum(k, i % W, (div(i, W) * W + k) % 3 == i % 3 ? div(i, W) * W + k : 0)
// out 0.4 i32 gen 128 = div(i, W) * W + (i % 3 - div(i, W) * W % 3 + 3) % 3
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
layout(set = 0, binding = 0) buffer O0 { uint members[]; };
layout(set = 0, binding = 1) buffer O1 { int sum[]; };
layout(set = 0, binding = 2) buffer O2 { int inclusive[]; };
layout(set = 0, binding = 3) buffer O3 { int exclusive[]; };
layout(set = 0, binding = 4) buffer O4 { int least[]; };

void main()
{
    int i = int(gl_LocalInvocationIndex);
    uvec4 set = subgroupPartitionNV(i % 3);
    ivec4 c = bitCount(set);
    members[i] = uint(c.x + c.y + c.z + c.w);
    sum[i] = subgroupPartitionedAddNV(i, set);
    inclusive[i] = subgroupPartitionedInclusiveAddNV(i, set);
    exclusive[i] = subgroupPartitionedExclusiveAddNV(i, set);
    least[i] = subgroupPartitionedMinNV(i, set);
}
