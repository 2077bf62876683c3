// The first rung: each invocation computes one element of the result.
//
// Every element of A is loaded N times and every element of B M times: an example of what not to do.
// M and N are multiples of the work-group's height and width, K is any number.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

void main()
{
    uint i = gl_GlobalInvocationID.y;
    uint j = gl_GlobalInvocationID.x;

    C_TYPE sum = inputC.x[strideC * i + j];
    for (uint k = 0; k < K; ++k) {
        sum += C_TYPE(inputA.x[strideA * i + k]) * C_TYPE(inputB.x[indexB(k, j)]);
    }
    outputD.x[strideD * i + j] = sum;
}
