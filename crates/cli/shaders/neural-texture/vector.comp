// Decompression of a neural texture by cooperative vectors: each invocation evaluates the network for its texel.
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 32) in;
layout(push_constant) uniform Sizes {
    // Of the result, and of the texture that it repeats, in texels.
    uvec2 whole;
    uvec2 size;
};

layout(set = 0, binding = 0) readonly buffer Fine { float16_t fine[]; };
layout(set = 0, binding = 1) readonly buffer Coarse { float16_t coarse[]; };
layout(set = 0, binding = 4) writeonly buffer Texels { float16_t texels[]; };
#define FINE_NUMBER(i) fine[i]
#define COARSE_NUMBER(i) coarse[i]
#define NETWORK 3
#include "common.glsl"
#include "network.glsl"

void main()
{
    const uint index = gl_GlobalInvocationID.x;
    if (index >= whole.x * whole.y)
        return;
    float features[WIDTH];
    featuresOf(uvec2(index % whole.x, index / whole.x) % size, size, features);
    const VECTOR result = evaluate(features).result;
    for (uint i = 0; i < CHANNELS; ++i)
        texels[CHANNELS * index + i] = result[i];
}
