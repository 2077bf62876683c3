// Decompression of a neural texture by conversions: a small network turns features into the channels of a texel.
//
// The texture is kept as two grids of features, coarser than itself, whose values were trained together with the network.
// Each invocation has one texel. It interpolates the features there (layer 0), and all texels of the subgroup go
// through the network together: hidden = max(features * weights1 + bias1, 0), texel = hidden * weights2 + bias2.
// The grids wrap around at their edges, and so does the texture.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#include "../conversion.glsl"

layout(constant_id = 1) const uint CHANNELS = 6;
// What an element of the finer and of the coarser grid holds; the rest are the texel's place within a cell of the finer one.
const uint FINE = 8;
const uint COARSE = 6;

layout(push_constant) uniform Sizes {
    // Of the result, in texels.
    uint width;
    uint height;
    // Of the texture and its grids along an edge, in texels and elements.
    uint size;
    uint fineSize;
    uint coarseSize;
};

layout(set = 0, binding = 0) readonly buffer Fine { float16_t fine[]; };
layout(set = 0, binding = 1) readonly buffer Coarse { float16_t coarse[]; };
// Row-major matrices of DEPTH x DEPTH and a row of biases, for each layer.
layout(set = 0, binding = 2) readonly buffer Network { float16_t network[]; };
layout(set = 0, binding = 3) writeonly buffer Texels { float16_t texels[]; };

// Where a texel lies in a grid: the element before it, and how far it is from there to the next.
struct Place {
    uvec2 element;
    vec2 fraction;
};

Place placeOf(uvec2 texel, uint gridSize)
{
    // The centres of texels and of elements are half a step from their edges.
    const vec2 at = (vec2(texel) + 0.5) * (float(gridSize) / float(size)) - 0.5;
    const vec2 before = floor(at);
    return Place(uvec2(ivec2(before) + int(gridSize)) % gridSize, at - before);
}

void main()
{
    const uint index = ROWS * gl_WorkGroupID.x + gl_SubgroupInvocationID;
    const uvec2 texel = uvec2(index % width, index / width) % size;

    float16_t features[DEPTH];
    const Place inFine = placeOf(texel, fineSize);
    const Place inCoarse = placeOf(texel, coarseSize);
    float sums[DEPTH];
    for (uint i = 0; i < DEPTH; ++i)
        sums[i] = 0.0;
    for (uint corner = 0; corner < 4; ++corner) {
        const uvec2 step = uvec2(corner & 1, corner >> 1);
        const vec2 weights = mix(1.0 - inFine.fraction, inFine.fraction, bvec2(step));
        const uvec2 element = (inFine.element + step) % fineSize;
        for (uint i = 0; i < FINE; ++i)
            sums[i] += weights.x * weights.y * float(fine[FINE * (fineSize * element.y + element.x) + i]);
    }
    for (uint corner = 0; corner < 4; ++corner) {
        const uvec2 step = uvec2(corner & 1, corner >> 1);
        const vec2 weights = mix(1.0 - inCoarse.fraction, inCoarse.fraction, bvec2(step));
        const uvec2 element = (inCoarse.element + step) % coarseSize;
        for (uint i = 0; i < COARSE; ++i)
            sums[FINE + i] += weights.x * weights.y * float(coarse[COARSE * (coarseSize * element.y + element.x) + i]);
    }
    sums[FINE + COARSE] = inFine.fraction.x;
    sums[FINE + COARSE + 1] = inFine.fraction.y;
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
    if (index < width * height) {
        for (uint i = 0; i < CHANNELS; ++i)
            texels[CHANNELS * index + i] = result[i];
    }
}
