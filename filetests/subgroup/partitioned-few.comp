// A partition of few invocations, fewer than a subgroup has: all of it is known when it is compiled.
//
// test run
// subgroup 4 8 16 32 64 128
// in 0.0 i64 [5 7 0]
// out 0.1 i64 [5 7 0]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_subgroup_extended_types_int64 : require
#include "subgroup.glsl"
layout(local_size_x = 2) in;
layout(set = 0, binding = 0) buffer In { int64_t x[]; } values;
layout(set = 0, binding = 1) buffer Out { int64_t x[]; } sums;

void main()
{
    const int64_t x = values.x[gl_SubgroupInvocationID];
    const uvec4 ballot = subgroupPartitionNV(x);
    sums.x[gl_SubgroupInvocationID] = subgroupPartitionedAddNV(x, ballot);
    sums.x[2] = int64_t(subgroupPartitionedAddNV(values.x[2], subgroupPartitionNV(values.x[2])));
}
