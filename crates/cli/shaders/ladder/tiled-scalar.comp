// The third rung: each invocation computes a small tile in its registers.
//
// A step along K loads one column of the tile's A and one row of its B and adds their outer product: what is loaded
// once is multiplied many times. A work-group computes TILE_M x TILE_N elements; its height and width divide them.
// Neighbouring invocations take neighbouring columns, so that together they load and store whole runs of memory.
// M and N are multiples of TILE_M and TILE_N, K is any number.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

const uint C_ROWS = TILE_M / gl_WorkGroupSize.y;
const uint C_COLS = TILE_N / gl_WorkGroupSize.x;
const uint WIDTH = gl_WorkGroupSize.x;

void main()
{
    // The first row and column of this invocation's tile; its columns are a work-group's width apart.
    uint row = TILE_M * gl_WorkGroupID.y + C_ROWS * gl_LocalInvocationID.y;
    uint column = TILE_N * gl_WorkGroupID.x + gl_LocalInvocationID.x;

    C_TYPE c[C_ROWS][C_COLS];
    for (uint i = 0; i < C_ROWS; ++i) {
        for (uint j = 0; j < C_COLS; ++j) {
            c[i][j] = inputC.x[strideC * (row + i) + column + WIDTH * j];
        }
    }

    for (uint k = 0; k < K; ++k) {
        C_TYPE a[C_ROWS];
        for (uint i = 0; i < C_ROWS; ++i) {
            a[i] = C_TYPE(inputA.x[strideA * (row + i) + k]);
        }
        for (uint j = 0; j < C_COLS; ++j) {
            C_TYPE b = C_TYPE(inputB.x[indexB(k, column + WIDTH * j)]);
            for (uint i = 0; i < C_ROWS; ++i) {
                c[i][j] = a[i] * b + c[i][j];
            }
        }
    }

    for (uint i = 0; i < C_ROWS; ++i) {
        for (uint j = 0; j < C_COLS; ++j) {
            outputD.x[strideD * (row + i) + column + WIDTH * j] = c[i][j];
        }
    }
}
