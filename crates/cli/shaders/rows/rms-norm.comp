// Rows divided by the root of the mean of their squares.
#version 460
#include "row.glsl"

void main()
{
    const uint vectors = length / 4;
    const uint row = gl_WorkGroupID.x * vectors;
    const uint lane = gl_SubgroupInvocationID;

    vec4 squares = vec4(0.0);
    for (uint i = lane; i < vectors; i += 32) {
        const vec4 v = x[row + i];
        squares += v * v;
    }
    const float sum = subgroupAdd(squares.x + squares.y + squares.z + squares.w);
    const float factor = inversesqrt(sum / float(length) + 1.0e-6);

    for (uint i = lane; i < vectors; i += 32)
        y[row + i] = factor * x[row + i];
}
