// Convolution with tensor layouts and views: the gathering is what a load does.
//
// The result's pixel (oy, ox) meets the input's pixel (STRIDE * oy + DILATION * fy - PAD, ...) in tap (fy, fx). A slice of a
// layout is a run of coordinates, so the layout takes rows and columns apart into a quotient by STRIDE and
// a remainder: its five dimensions are (y / STRIDE, y % STRIDE, x / STRIDE, x % STRIDE, channel). In one tap the remainders
// are the same for every pixel, and the quotients are runs that start at oy and ox plus something. They may start before
// the image and end behind it, where the layout clamps: loads give zeros, which is what padding means.
//
// A work-group computes TILE_H x TILE_W pixels and TILE_N channels of one image.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#include "../matrix2.glsl"
#include "common.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 6) const uint TILE_H = 8;
layout(constant_id = 7) const uint TILE_W = 8;
layout(constant_id = 8) const uint TILE_N = 64;
layout(constant_id = 9) const uint TILE_K = 64;
const uint TILE_M = TILE_H * TILE_W;

// The quotient rounded down, and the remainder that belongs to it.
ivec2 divide(int dividend, int divisor)
{
    const int remainder = (dividend % divisor + divisor) % divisor;
    return ivec2((dividend - remainder) / divisor, remainder);
}

// How many of `size` coordinates have the remainder.
uint countWith(int size, int remainder)
{
    return uint(max(size - remainder + STRIDE - 1, 0) / STRIDE);
}

void main()
{
    const uint channel = TILE_N * gl_WorkGroupID.x;
    const uint tilesInRow = (OUT_W + TILE_W - 1) / TILE_W;
    const int row = int(TILE_H * (gl_WorkGroupID.y / tilesInRow));
    const int column = int(TILE_W * (gl_WorkGroupID.y % tilesInRow));
    const uint image = gl_WorkGroupID.z;

    tensorLayoutNV<4, ZEROS_OUTSIDE> weights = createTensorLayoutNV(4, ZEROS_OUTSIDE);
    weights = setTensorLayoutDimensionNV(weights, OUT_C, FILTER_H, FILTER_W, C);
    // The weights' first dimension comes last: a column of B is a channel of the result.
    const tensorViewNV<4, false, 1, 2, 3, 0> transposed = createTensorViewNV(4, false, 1, 2, 3, 0);

    ACCUMULATOR(float, TILE_M, TILE_N) sums = ACCUMULATOR(float, TILE_M, TILE_N)(0.0);
    for (uint fy = 0; fy < FILTER_H; ++fy) {
        for (uint fx = 0; fx < FILTER_W; ++fx) {
            const ivec2 y0 = divide(DILATION * int(fy) - PAD, STRIDE);
            const ivec2 x0 = divide(DILATION * int(fx) - PAD, STRIDE);
            tensorLayoutNV<5, ZEROS_OUTSIDE> pixels = createTensorLayoutNV(5, ZEROS_OUTSIDE);
            // Where STRIDE does not divide the image, the last remainders have fewer quotients.
            pixels = setTensorLayoutDimensionNV(pixels, countWith(H, y0.y), STRIDE, countWith(W, x0.y), STRIDE, C);
            pixels = setTensorLayoutStrideNV(pixels, STRIDE * W * C, W * C, STRIDE * C, C, 1);
            pixels = sliceTensorLayoutNV(pixels, row + y0.x, TILE_H, y0.y, 1, column + x0.x, TILE_W, x0.y, 1, 0, C);

            for (uint k = 0; k < C; k += TILE_K) {
                MATRIX_A(float16_t, TILE_M, TILE_K) matX;
                coopMatLoadTensorNV(matX, x, imageStride * image,
                    sliceTensorLayoutNV(pixels, 0, TILE_H, 0, 1, 0, TILE_W, 0, 1, k, TILE_K));
                MATRIX_B(float16_t, TILE_K, TILE_N) matW;
                coopMatLoadTensorNV(matW, w, 0,
                    sliceTensorLayoutNV(weights, channel, TILE_N, fy, 1, fx, 1, k, TILE_K), transposed);
                sums = coopMatMulAdd(matX, matW, sums);
            }
        }
    }

    tensorLayoutNV<3, ZEROS_OUTSIDE> result = createTensorLayoutNV(3, ZEROS_OUTSIDE);
    result = setTensorLayoutDimensionNV(result, OUT_H, OUT_W, OUT_C);
    // What lies outside of the image is not stored.
    coopMatStoreTensorNV(sums, y, OUT_H * OUT_W * OUT_C * image,
        sliceTensorLayoutNV(result, row, TILE_H, column, TILE_W, channel, TILE_N));
}
