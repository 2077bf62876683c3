// The inclusive prefix sums of each row: those of vectors, then of lanes, then what came before.
#version 460
#include "row.glsl"

void main()
{
    const uint vectors = length / 4;
    const uint row = gl_WorkGroupID.x * vectors;
    const uint lane = gl_SubgroupInvocationID;

    float before = 0.0;
    for (uint start = 0; start < vectors; start += 32) {
        const uint i = start + lane;
        vec4 v = i < vectors ? x[row + i] : vec4(0.0);
        v.y += v.x;
        v.z += v.y;
        v.w += v.z;
        const float lanes = subgroupInclusiveAdd(v.w);
        if (i < vectors)
            y[row + i] = v + (before + lanes - v.w);
        before += subgroupBroadcast(lanes, 31);
    }
}
