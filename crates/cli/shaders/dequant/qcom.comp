// Quantised weights by conversions: each invocation decodes the blocks of one row and gives them to a matrix.
//
// The subgroup computes as many rows as it has invocations, times TILE_N columns: what was decoded once is multiplied
// TILE_N times. X has a column, and W a row, for each part of every tile; D has them only where they count.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#include "../conversion.glsl"
#include "common.glsl"

layout(constant_id = 1) const uint TILE_N = 128;
const uint C_COLS = TILE_N / COLS;

// Two bytes at a time: a block starts at an even address.
layout(set = 0, binding = 0) readonly buffer InputW { uint16_t w[]; };

// Decodes the block that starts at 16-bit word `start`.
void decode(uint start, out float16_t weights[BLOCK])
{
    const float scale = float(uint16BitsToHalf(w[start]));
#ifdef BLOCK_Q8_0
    for (uint i = 0; i < BLOCK / 2; ++i) {
        const int pair = int(w[start + 1 + i]);
        weights[2 * i] = float16_t(scale * float(bitfieldExtract(pair, 0, 8)));
        weights[2 * i + 1] = float16_t(scale * float(bitfieldExtract(pair, 8, 8)));
    }
#else
    for (uint i = 0; i < BLOCK / 4; ++i) {
        const uint pair = uint(w[start + 1 + i]);
        weights[2 * i] = float16_t(scale * float(weightQ4(pair & 255, 0)));
        weights[2 * i + 1] = float16_t(scale * float(weightQ4(pair >> 8, 0)));
        weights[2 * i + 16] = float16_t(scale * float(weightQ4(pair & 255, 16)));
        weights[2 * i + 17] = float16_t(scale * float(weightQ4(pair >> 8, 16)));
    }
#endif
}

void main()
{
    const uint row = ROWS * gl_WorkGroupID.y + gl_SubgroupInvocationID;
    const uint column = TILE_N * gl_WorkGroupID.x;
    const uint blockWords = BLOCK_BYTES / 2;

    ACCUMULATOR(float, COLS) sums[C_COLS];
    for (uint j = 0; j < C_COLS; ++j)
        sums[j] = ACCUMULATOR(float, COLS)(0.0);

    for (uint k = 0; k < K; k += BLOCK) {
        float16_t weights[BLOCK];
        decode(blockWords * ((K * row + k) / BLOCK), weights);
        for (uint slice = 0; slice < BLOCK; slice += DEPTH) {
            float16_t part[DEPTH];
            extractSubArrayQCOM(weights, slice, part);
            MATRIX_A matW;
            vectorToCoopmatQCOM(part, matW);
            for (uint j = 0; j < C_COLS; ++j) {
                MATRIX_B(COLS) matX;
                coopMatLoad(matX, x, K * (column + COLS * j) + k + slice, K, gl_CooperativeMatrixLayoutColumnMajor);
                sums[j] = coopMatMulAdd(matW, matX, sums[j]);
            }
        }
    }

    // Every invocation takes part in a conversion; those without a row write nothing.
    for (uint j = 0; j < C_COLS; ++j) {
        float found[COLS];
        coopmatToVectorQCOM(sums[j], found);
        if (row < M) {
            for (uint i = 0; i < COLS; ++i) {
                const uint at = column + COLS * j + i;
                if (at < N)
                    d[N * row + at] = found[i];
            }
        }
    }
}
