// The fourth rung in the older dialect, GL_NV_cooperative_matrix: an array of matrices for each subgroup.
//
// The dialect names a matrix by its kind and its bits; define
//   A_MATRIX, A_BITS  for A and B           (fcoopmatNV and 16 unless given)
//   C_MATRIX, C_BITS  for C, D and the sums (fcoopmatNV and 32 unless given)
// beside A_TYPE and C_TYPE. The kinds are fcoopmatNV, icoopmatNV and ucoopmatNV.
// M, N and K are multiples of TILE_M, TILE_N and TILE_K, which are multiples of lM, lN and lK.
// The work-group is one subgroup.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_NV_integer_cooperative_matrix : require
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

#ifndef A_MATRIX
#define A_MATRIX fcoopmatNV
#define A_BITS 16
#endif
#ifndef C_MATRIX
#define C_MATRIX fcoopmatNV
#define C_BITS 32
#endif

const uint C_ROWS = TILE_M / lM;
const uint C_COLS = TILE_N / lN;

void main()
{
    uint row = TILE_M * gl_WorkGroupID.y;
    uint column = TILE_N * gl_WorkGroupID.x;

    C_MATRIX<C_BITS, gl_ScopeSubgroup, lM, lN> matC[C_ROWS][C_COLS];
    for (uint i = 0; i < C_ROWS; ++i) {
        for (uint j = 0; j < C_COLS; ++j) {
            uint start = strideC * (row + lM * i) + column + lN * j;
            coopMatLoadNV(matC[i][j], inputC.x, start, strideC, false);
        }
    }

    for (uint step = 0; step < K; step += TILE_K) {
        for (uint k = step; k < step + TILE_K; k += lK) {
            A_MATRIX<A_BITS, gl_ScopeSubgroup, lM, lK> matA[C_ROWS];
            for (uint i = 0; i < C_ROWS; ++i) {
                coopMatLoadNV(matA[i], inputA.x, strideA * (row + lM * i) + k, strideA, false);
            }
            A_MATRIX<A_BITS, gl_ScopeSubgroup, lK, lN> matB;
            for (uint j = 0; j < C_COLS; ++j) {
                coopMatLoadNV(matB, inputB.x, indexB(k, column + lN * j), strideB, B_COL_MAJOR);
                for (uint i = 0; i < C_ROWS; ++i) {
                    matC[i][j] = coopMatMulAddNV(matA[i], matB, matC[i][j]);
                }
            }
        }
    }

    for (uint i = 0; i < C_ROWS; ++i) {
        for (uint j = 0; j < C_COLS; ++j) {
            uint start = strideD * (row + lM * i) + column + lN * j;
            coopMatStoreNV(matC[i][j], outputD.x, start, strideD, false);
        }
    }
}
