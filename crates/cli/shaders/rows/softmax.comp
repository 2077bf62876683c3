// Softmax of rows: the largest number of a row, the sum of the exponentials of what is less, and the quotients.
#version 460
#include "row.glsl"

void main()
{
    const uint vectors = length / 4;
    const uint row = gl_WorkGroupID.x * vectors;
    const uint lane = gl_SubgroupInvocationID;

    vec4 most = vec4(-3.0e38);
    for (uint i = lane; i < vectors; i += 32)
        most = max(most, x[row + i]);
    const float largest = subgroupMax(max(max(most.x, most.y), max(most.z, most.w)));

    vec4 sums = vec4(0.0);
    for (uint i = lane; i < vectors; i += 32)
        sums += exp(x[row + i] - largest);
    const float factor = 1.0 / subgroupAdd(sums.x + sums.y + sums.z + sums.w);

    for (uint i = lane; i < vectors; i += 32)
        y[row + i] = factor * exp(x[row + i] - largest);
}
