// The rung beside the top: the work-group holds its whole tile as one matrix.
//
// With GL_NV_cooperative_matrix2 the invocations of a work-group hold a matrix together, and tensor layouts say where its
// elements are. What `shared` does by hand, loading together, sharing, dividing the tile among the subgroups, is left to
// the implementation. A column-major B is loaded through a view that transposes it.
// M, N and K need not be multiples of TILE_M, TILE_N and TILE_K: loads give zeros outside, stores do nothing.
// One matrix is the tile: lM, lN and lK are not used.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#include "../matrix2.glsl"
#include "common.glsl"

layout(constant_id = 12) const uint M = 128;
layout(constant_id = 13) const uint N = 128;

#define LAYOUT tensorLayoutNV<2, ZEROS_OUTSIDE>

// Of a row-major matrix.
LAYOUT layoutOf(uint rows, uint columns, uint stride)
{
    LAYOUT result = createTensorLayoutNV(2, ZEROS_OUTSIDE);
    result = setTensorLayoutDimensionNV(result, rows, columns);
    return setTensorLayoutStrideNV(result, stride, 1);
}

void main()
{
    const uint row = TILE_M * gl_WorkGroupID.y;
    const uint column = TILE_N * gl_WorkGroupID.x;
    const LAYOUT layoutA = layoutOf(M, K, strideA);
    const LAYOUT layoutB = B_COL_MAJOR ? layoutOf(N, K, strideB) : layoutOf(K, N, strideB);
    const tensorViewNV<2, false, 1, 0> transposed = createTensorViewNV(2, false, 1, 0);

    ACCUMULATOR(C_TYPE, TILE_M, TILE_N) sums;
    coopMatLoadTensorNV(sums, inputC.x, 0, sliceTensorLayoutNV(layoutOf(M, N, strideC), row, TILE_M, column, TILE_N));
    for (uint k = 0; k < K; k += TILE_K) {
        MATRIX_A(A_TYPE, TILE_M, TILE_K) matA;
        coopMatLoadTensorNV(matA, inputA.x, 0, sliceTensorLayoutNV(layoutA, row, TILE_M, k, TILE_K));
        MATRIX_B(A_TYPE, TILE_K, TILE_N) matB;
        if (B_COL_MAJOR)
            coopMatLoadTensorNV(matB, inputB.x, 0, sliceTensorLayoutNV(layoutB, column, TILE_N, k, TILE_K), transposed);
        else
            coopMatLoadTensorNV(matB, inputB.x, 0, sliceTensorLayoutNV(layoutB, k, TILE_K, column, TILE_N));
        sums = coopMatMulAdd(matA, matB, sums);
    }
    coopMatStoreTensorNV(sums, outputD.x, 0,
        sliceTensorLayoutNV(layoutOf(M, N, strideD), row, TILE_M, column, TILE_N));
}
