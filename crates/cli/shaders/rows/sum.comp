// The sum of each row, in the first element of its vector of results.
#version 460
#include "row.glsl"

void main()
{
    const uint vectors = length / 4;
    const uint row = gl_WorkGroupID.x * vectors;
    const uint lane = gl_SubgroupInvocationID;

    vec4 sums = vec4(0.0);
    for (uint i = lane; i < vectors; i += 32)
        sums += x[row + i];
    const float sum = subgroupAdd(sums.x + sums.y + sums.z + sums.w);
    if (subgroupElect())
        y[gl_WorkGroupID.x] = vec4(sum, 0.0, 0.0, 0.0);
}
