// Beside the ladder: the multiplication as programs for GPUs have it that stage blocks through shared memory.
//
// A work-group of SUBGROUP_ROWS x SUBGROUP_COLS subgroups computes TILE_M x TILE_N elements. In each step along K each
// invocation copies its pieces of a block of A and of a block of B into shared memory, whose rows are padded, between two
// barriers; then each subgroup multiplies its part. Nothing is fetched ahead. An invocation stays in one column of pieces
// and goes down some rows at a time, so it divides once and not in the loop.
//
// M, N and K are multiples of TILE_M, TILE_N and TILE_K. A subgroup's share of the tile and TILE_K are multiples of lM, lN
// and lK, which are whole pieces where rows have them. The number of invocations is a multiple of the pieces of a row.
// A PIECE is what is copied at a time, of PIECE_BYTES; an element of A has A_BYTES.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 9) const uint SUBGROUP_ROWS = 4;
layout(constant_id = 10) const uint SUBGROUP_COLS = 2;
// Unused pieces at the end of each row in shared memory.
layout(constant_id = 11) const uint PAD = 1;

const uint PIECE_ELEMS = PIECE_BYTES / A_BYTES;
const uint INVOCATIONS = gl_WorkGroupSize.x * gl_WorkGroupSize.y;

// A block of B lies in shared memory as it lies in the buffer: TILE_K rows, or TILE_N columns.
const uint B_LINES = B_COL_MAJOR ? TILE_N : TILE_K;
const uint A_PIECES = TILE_K / PIECE_ELEMS;
const uint B_PIECES = (B_COL_MAJOR ? TILE_K : TILE_N) / PIECE_ELEMS;
const uint A_STRIDE = A_PIECES + PAD;
const uint B_STRIDE = B_PIECES + PAD;
// So many rows are copied at once.
const uint A_ROWS = INVOCATIONS / A_PIECES;
const uint B_ROWS = INVOCATIONS / B_PIECES;

const uint C_ROWS = TILE_M / SUBGROUP_ROWS / lM;
const uint C_COLS = TILE_N / SUBGROUP_COLS / lN;
const int LAYOUT_B =
    B_COL_MAJOR ? gl_CooperativeMatrixLayoutColumnMajor : gl_CooperativeMatrixLayoutRowMajor;

// The same two buffers again, in pieces.
layout(set = 0, binding = 0) readonly buffer PiecesA { PIECE x[]; } piecesA;
layout(set = 0, binding = 1) readonly buffer PiecesB { PIECE x[]; } piecesB;

shared PIECE sharedA[TILE_M * A_STRIDE];
shared PIECE sharedB[B_LINES * B_STRIDE];

void main()
{
    uint tileRow = TILE_M * gl_WorkGroupID.y;
    uint tileColumn = TILE_N * gl_WorkGroupID.x;
    // This subgroup's part of the tile.
    uint partRow = lM * C_ROWS * (gl_SubgroupID / SUBGROUP_COLS);
    uint partColumn = lN * C_COLS * (gl_SubgroupID % SUBGROUP_COLS);
    // This invocation's column of pieces, and the first of its rows.
    uint columnA = gl_LocalInvocationIndex % A_PIECES;
    uint rowA = gl_LocalInvocationIndex / A_PIECES;
    uint columnB = gl_LocalInvocationIndex % B_PIECES;
    uint rowB = gl_LocalInvocationIndex / B_PIECES;

    coopmat<C_TYPE, gl_ScopeSubgroup, lM, lN, gl_MatrixUseAccumulator> matC[C_ROWS][C_COLS];
    for (uint i = 0; i < C_ROWS; ++i) {
        for (uint j = 0; j < C_COLS; ++j) {
            uint start = strideC * (tileRow + partRow + lM * i) + tileColumn + partColumn + lN * j;
            coopMatLoad(matC[i][j], inputC.x, start, strideC, gl_CooperativeMatrixLayoutRowMajor);
        }
    }

    for (uint step = 0; step < K; step += TILE_K) {
        uint startA = (strideA * tileRow + step) / PIECE_ELEMS;
        uint startB = indexB(step, tileColumn) / PIECE_ELEMS;
        for (uint row = rowA; row < TILE_M; row += A_ROWS) {
            sharedA[A_STRIDE * row + columnA] = piecesA.x[startA + strideA / PIECE_ELEMS * row + columnA];
        }
        for (uint row = rowB; row < B_LINES; row += B_ROWS) {
            sharedB[B_STRIDE * row + columnB] = piecesB.x[startB + strideB / PIECE_ELEMS * row + columnB];
        }
        barrier();
        for (uint k = 0; k < TILE_K; k += lK) {
            coopmat<A_TYPE, gl_ScopeSubgroup, lM, lK, gl_MatrixUseA> matA[C_ROWS];
            for (uint i = 0; i < C_ROWS; ++i) {
                uint start = A_STRIDE * (partRow + lM * i) + k / PIECE_ELEMS;
                coopMatLoad(matA[i], sharedA, start, A_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
            }
            coopmat<A_TYPE, gl_ScopeSubgroup, lK, lN, gl_MatrixUseB> matB;
            for (uint j = 0; j < C_COLS; ++j) {
                uint column = partColumn + lN * j;
                uint start = B_COL_MAJOR ? B_STRIDE * column + k / PIECE_ELEMS : B_STRIDE * k + column / PIECE_ELEMS;
                coopMatLoad(matB, sharedB, start, B_STRIDE, LAYOUT_B);
                for (uint i = 0; i < C_ROWS; ++i) {
                    matC[i][j] = coopMatMulAdd(matA[i], matB, matC[i][j]);
                }
            }
        }
        barrier();
    }

    for (uint i = 0; i < C_ROWS; ++i) {
        for (uint j = 0; j < C_COLS; ++j) {
            uint start = strideD * (tileRow + partRow + lM * i) + tileColumn + partColumn + lN * j;
            coopMatStore(matC[i][j], outputD.x, start, strideD, gl_CooperativeMatrixLayoutRowMajor);
        }
    }
}
