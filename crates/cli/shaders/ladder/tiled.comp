// The fourth rung: each subgroup computes an array of matrices.
//
// This is the third rung with matrices in place of numbers. Spread over the subgroup's registers, the tile can be
// much larger, and so is the number of multiplications for each load.
// M, N and K are multiples of TILE_M, TILE_N and TILE_K, which are multiples of lM, lN and lK.
// The work-group is one subgroup.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

const uint C_ROWS = TILE_M / lM;
const uint C_COLS = TILE_N / lN;
const int LAYOUT_B =
    B_COL_MAJOR ? gl_CooperativeMatrixLayoutColumnMajor : gl_CooperativeMatrixLayoutRowMajor;

void main()
{
    uint row = TILE_M * gl_WorkGroupID.y;
    uint column = TILE_N * gl_WorkGroupID.x;

    coopmat<C_TYPE, gl_ScopeSubgroup, lM, lN, gl_MatrixUseAccumulator> matC[C_ROWS][C_COLS];
    for (uint i = 0; i < C_ROWS; ++i) {
        for (uint j = 0; j < C_COLS; ++j) {
            uint start = strideC * (row + lM * i) + column + lN * j;
            coopMatLoad(matC[i][j], inputC.x, start, strideC, gl_CooperativeMatrixLayoutRowMajor);
        }
    }

    for (uint step = 0; step < K; step += TILE_K) {
        for (uint k = step; k < step + TILE_K; k += lK) {
            coopmat<A_TYPE, gl_ScopeSubgroup, lM, lK, gl_MatrixUseA> matA[C_ROWS];
            for (uint i = 0; i < C_ROWS; ++i) {
                uint start = strideA * (row + lM * i) + k;
                coopMatLoad(matA[i], inputA.x, start, strideA, gl_CooperativeMatrixLayoutRowMajor);
            }
            coopmat<A_TYPE, gl_ScopeSubgroup, lK, lN, gl_MatrixUseB> matB;
            for (uint j = 0; j < C_COLS; ++j) {
                coopMatLoad(matB, inputB.x, indexB(k, column + lN * j), strideB, LAYOUT_B);
                for (uint i = 0; i < C_ROWS; ++i) {
                    matC[i][j] = coopMatMulAdd(matA[i], matB, matC[i][j]);
                }
            }
        }
    }

    for (uint i = 0; i < C_ROWS; ++i) {
        for (uint j = 0; j < C_COLS; ++j) {
            uint start = strideD * (row + lM * i) + column + lN * j;
            coopMatStore(matC[i][j], outputD.x, start, strideD, gl_CooperativeMatrixLayoutRowMajor);
        }
    }
}
