// Clustered reductions, with every cluster that fits the subgroup, and rotation in clusters.
//
// test run
// target interp passes cpu lowered
// out 0.0 i32 gen 128 = sum(k, 2, div(i, 2) * 2 + k)
// out 0.1 i32 gen 128 = sum(k, 4, div(i, 4) * 4 + k)
// out 0.2 i32 gen 128 = div(i, 4) * 4 + 3
// out 0.3 i32 gen 128 = i
// out 0.4 i32 gen 128 = sum(k, W, div(i, W) * W + k)
// out 0.5 i32 gen 128 = div(i, 4) * 4 + (i + 1) % 4
// out 0.6 i32 gen 128 = div(i, W) * W + (i + 3) % W
// out 0.7 f32 gen 128 = (div(i, W) * W + (i + 5) % W) * 0.5
// define CLUSTER W
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
layout(set = 0, binding = 0) buffer O0 { int two[]; };
layout(set = 0, binding = 1) buffer O1 { int four[]; };
layout(set = 0, binding = 2) buffer O2 { int greatest[]; };
layout(set = 0, binding = 3) buffer O3 { int one[]; };
layout(set = 0, binding = 4) buffer O4 { int all[]; };
layout(set = 0, binding = 5) buffer O5 { int turned4[]; };
layout(set = 0, binding = 6) buffer O6 { int turned[]; };
layout(set = 0, binding = 7) buffer O7 { float turnedf[]; };

void main()
{
    int i = int(gl_LocalInvocationIndex);
    two[i] = subgroupClusteredAdd(i, 2);
    four[i] = subgroupClusteredAdd(i, 4);
    greatest[i] = subgroupClusteredMax(i, 4);
    one[i] = subgroupClusteredMin(i, 1);
    all[i] = subgroupClusteredAdd(i, CLUSTER);
    turned4[i] = subgroupClusteredRotate(i, 1, 4);
    turned[i] = subgroupRotate(i, 3);
    // A distance beyond the subgroup's size counts by its low bits.
    turnedf[i] = subgroupRotate(float(i) * 0.5, gl_SubgroupSize * 2 + 5);
}
