// Decompression of a neural texture by conversions: a small network turns features into the channels of a texel.
//
// Each invocation has one texel. It interpolates the features there, and all texels of the subgroup go through the network
// together: hidden = max(features * weights1 + bias1, 0), texel = hidden * weights2 + bias2.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#include "../conversion.glsl"

#define FINE_NUMBER(i) fine[i]
#define COARSE_NUMBER(i) coarse[i]

layout(push_constant) uniform Sizes {
    // Of the result, and of the texture that it repeats, in texels.
    uvec2 whole;
    uvec2 size;
};

layout(set = 0, binding = 0) readonly buffer Fine { float16_t fine[]; };
layout(set = 0, binding = 1) readonly buffer Coarse { float16_t coarse[]; };
// Row-major matrices of DEPTH x DEPTH and a row of biases, for each layer.
layout(set = 0, binding = 2) readonly buffer Network { float16_t network[]; };
layout(set = 0, binding = 4) writeonly buffer Texels { float16_t texels[]; };
#include "common.glsl"

void main()
{
    const uint index = ROWS * gl_WorkGroupID.x + gl_SubgroupInvocationID;
    float sums[WIDTH];
    featuresOf(uvec2(index % whole.x, index / whole.x) % size, size, sums);
    float16_t features[DEPTH];
    for (uint i = 0; i < DEPTH; ++i)
        features[i] = float16_t(sums[i]);

    // The first layer. With a stride of 0 each row is the row of biases.
    const uint layer = DEPTH * DEPTH + DEPTH;
    MATRIX_A matA;
    MATRIX_B(DEPTH) matB;
    ACCUMULATOR(float16_t, DEPTH) matC;
    vectorToCoopmatQCOM(features, matA);
    coopMatLoad(matB, network, 0, DEPTH, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(matC, network, DEPTH * DEPTH, 0, gl_CooperativeMatrixLayoutRowMajor);
    matC = coopMatMulAdd(matA, matB, matC);

    // Through a vector the sums become factors.
    float16_t hidden[DEPTH];
    coopmatToVectorQCOM(matC, hidden);
    for (uint i = 0; i < DEPTH; ++i)
        hidden[i] = max(hidden[i], float16_t(0.0));
    vectorToCoopmatQCOM(hidden, matA);

    // The second layer.
    coopMatLoad(matB, network, layer, DEPTH, gl_CooperativeMatrixLayoutRowMajor);
    coopMatLoad(matC, network, layer + DEPTH * DEPTH, 0, gl_CooperativeMatrixLayoutRowMajor);
    matC = coopMatMulAdd(matA, matB, matC);
    float16_t result[DEPTH];
    coopmatToVectorQCOM(matC, result);
    if (index < whole.x * whole.y) {
        for (uint i = 0; i < CHANNELS; ++i)
            texels[CHANNELS * index + i] = result[i];
    }
}
