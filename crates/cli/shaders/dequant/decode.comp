// Quantised weights by a function that decodes them while a matrix is loaded.
//
// The tensor layout knows that 32 weights along K are one block; the load finds the block of each element and calls the
// function. With DECODE_VECTOR there is a second function that decodes four weights at once, which the
// implementation calls where it can. Sizes need not be multiples of the tile's; K is a multiple of 32.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#include "../matrix2.glsl"
#include "common.glsl"
#ifdef DECODE_VECTOR
#extension GL_NV_cooperative_matrix_decode_vector : require
#define DECODE decode, decode4
#else
#define DECODE decode
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint TILE_M = 64;
layout(constant_id = 2) const uint TILE_N = 64;
layout(constant_id = 3) const uint TILE_K = 64;

layout(set = 0, binding = 0) readonly buffer InputW { uint16_t w[]; };

#ifdef BLOCK_Q8_0
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Block { float16_t scale; int8_t weights[32]; };

float16_t decode(const in Block block, const in uint32_t blockAt[2], const in uint32_t at[2])
{
    return block.scale * float16_t(int(block.weights[at[1]]));
}

f16vec4 decode4(const in Block block, const in uint32_t blockAt[2], const in uint32_t at[2])
{
    const uint i = at[1];
    return block.scale * f16vec4(int(block.weights[i]), int(block.weights[i + 1]), int(block.weights[i + 2]),
        int(block.weights[i + 3]));
}
#else
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Block { float16_t scale; uint8_t halves[16]; };

float16_t decode(const in Block block, const in uint32_t blockAt[2], const in uint32_t at[2])
{
    const uint i = at[1];
    return block.scale * float16_t(weightQ4(uint(block.halves[i % 16]), i));
}

f16vec4 decode4(const in Block block, const in uint32_t blockAt[2], const in uint32_t at[2])
{
    // Four weights that start at a multiple of four are in the same half of four bytes.
    const uint i = at[1];
    const uint first = i % 16;
    return block.scale * f16vec4(weightQ4(uint(block.halves[first]), i), weightQ4(uint(block.halves[first + 1]), i),
        weightQ4(uint(block.halves[first + 2]), i), weightQ4(uint(block.halves[first + 3]), i));
}
#endif

void main()
{
    const uint row = TILE_M * gl_WorkGroupID.y;
    const uint column = TILE_N * gl_WorkGroupID.x;

    tensorLayoutNV<2, ZEROS_OUTSIDE> layoutW = createTensorLayoutNV(2, ZEROS_OUTSIDE);
    // Before the dimensions: from both follow the strides, in blocks.
    layoutW = setTensorLayoutBlockSizeNV(layoutW, 1, BLOCK);
    layoutW = setTensorLayoutDimensionNV(layoutW, M, K);
    tensorLayoutNV<2, ZEROS_OUTSIDE> layoutX = createTensorLayoutNV(2, ZEROS_OUTSIDE);
    layoutX = setTensorLayoutDimensionNV(layoutX, N, K);
    const tensorViewNV<2, false, 1, 0> transposed = createTensorViewNV(2, false, 1, 0);
    tensorLayoutNV<2, ZEROS_OUTSIDE> layoutD = createTensorLayoutNV(2, ZEROS_OUTSIDE);
    layoutD = setTensorLayoutDimensionNV(layoutD, M, N);

    ACCUMULATOR(float, TILE_M, TILE_N) sums = ACCUMULATOR(float, TILE_M, TILE_N)(0.0);
    for (uint k = 0; k < K; k += TILE_K) {
        MATRIX_A(float16_t, TILE_M, TILE_K) matW;
        coopMatLoadTensorNV(matW, w, 0, sliceTensorLayoutNV(layoutW, row, TILE_M, k, TILE_K), DECODE);
        MATRIX_B(float16_t, TILE_K, TILE_N) matX;
        coopMatLoadTensorNV(matX, x, 0, sliceTensorLayoutNV(layoutX, column, TILE_N, k, TILE_K), transposed);
        sums = coopMatMulAdd(matW, matX, sums);
    }
    coopMatStoreTensorNV(sums, d, 0, sliceTensorLayoutNV(layoutD, row, TILE_M, column, TILE_N));
}
