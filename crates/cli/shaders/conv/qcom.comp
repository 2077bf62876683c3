// Convolution by conversions: each invocation has one pixel of the result and loads the pixels that it depends on.
//
// They go into a row of A as a vector, and a vector of zeros where the filter reaches beyond the image. A row is multiplied
// with the weights of TILE_N channels. The weights have a row for each channel of every tile.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#include "../conversion.glsl"
#include "common.glsl"

layout(constant_id = 6) const uint TILE_N = 128;
const uint C_COLS = TILE_N / COLS;

void main()
{
    const uint pixel = ROWS * gl_WorkGroupID.y + gl_SubgroupInvocationID;
    const int row = int(pixel / OUT_W);
    const int column = int(pixel % OUT_W);
    const uint channel = TILE_N * gl_WorkGroupID.x;
    const uint image = gl_WorkGroupID.z;
    const uint weightStride = FILTER_H * FILTER_W * C;

    ACCUMULATOR(float, COLS) sums[C_COLS];
    for (uint j = 0; j < C_COLS; ++j)
        sums[j] = ACCUMULATOR(float, COLS)(0.0);

    for (uint fy = 0; fy < FILTER_H; ++fy) {
        for (uint fx = 0; fx < FILTER_W; ++fx) {
            const int inputRow = STRIDE * row + DILATION * int(fy) - PAD;
            const int inputColumn = STRIDE * column + DILATION * int(fx) - PAD;
            const bool isInside = inputRow >= 0 && inputRow < H && inputColumn >= 0 && inputColumn < W;
            const uint start = imageStride * image + C * uint(W * inputRow + inputColumn);
            const uint tap = weightStride * channel + C * (FILTER_W * fy + fx);
            for (uint k = 0; k < C; k += DEPTH) {
                float16_t channels[DEPTH];
                for (uint i = 0; i < DEPTH; ++i)
                    channels[i] = float16_t(0.0);
                if (isInside) {
                    const uint count = min(DEPTH, C - k);
                    for (uint i = 0; i < count; ++i)
                        channels[i] = x[start + k + i];
                }
                MATRIX_A matX;
                vectorToCoopmatQCOM(channels, matX);
                for (uint j = 0; j < C_COLS; ++j) {
                    // Behind the last channel of this tap there are other weights; the zeros above make nothing of them.
                    MATRIX_B(COLS) matW;
                    coopMatLoad(matW, w, tap + weightStride * COLS * j + k, weightStride,
                        gl_CooperativeMatrixLayoutColumnMajor);
                    sums[j] = coopMatMulAdd(matX, matW, sums[j]);
                }
            }
        }
    }

    // Every invocation takes part in a conversion; those without a pixel write nothing.
    for (uint j = 0; j < C_COLS; ++j) {
        float found[COLS];
        coopmatToVectorQCOM(sums[j], found);
        if (pixel < OUT_H * OUT_W) {
            const uint first = channel + COLS * j;
            const uint start = OUT_C * (OUT_H * OUT_W * image + pixel) + first;
            for (uint i = 0; i < min(COLS, max(OUT_C, first) - first); ++i)
                y[start + i] = found[i];
        }
    }
}
