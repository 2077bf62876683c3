// The top rung: the subgroups of a work-group share what they load.
//
// A work-group of SUBGROUP_ROWS x SUBGROUP_COLS subgroups computes TILE_M x TILE_N elements. In each step along K,
// its invocations copy a block of A and a block of B, a piece each at a time, into shared memory; then each subgroup
// multiplies the parts that it needs. Where FETCH_AHEAD is set, the blocks of the next step are fetched into registers
// before the multiplication starts, so that on a machine with many threads the two overlap; a machine that asks its
// caches for them meanwhile does better without.
//
// M, N and K are multiples of TILE_M, TILE_N and TILE_K. A subgroup's share of the tile, TILE_M / SUBGROUP_ROWS by
// TILE_N / SUBGROUP_COLS, and TILE_K are multiples of lM, lN and lK. The strides of A and B, lK elements, and lN
// elements of a row-major B are whole pieces; the number of pieces in each block is a multiple of the number of
// invocations.
// A_BYTES is the size of an A_TYPE (2 unless given), PIECE the type of a piece and PIECE_BYTES its size (uvec4, which a
// GPU moves best, unless given).
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

#ifndef A_BYTES
#define A_BYTES 2
#endif
#ifndef PIECE
#define PIECE uvec4
#define PIECE_BYTES 16
#endif

layout(constant_id = 9) const uint SUBGROUP_ROWS = 2;
layout(constant_id = 10) const uint SUBGROUP_COLS = 2;
// Unused pieces at the end of each row in shared memory; 16 bytes of them spread the rows over the banks of a GPU.
layout(constant_id = 11) const uint PAD = 1;
layout(constant_id = 12) const bool FETCH_AHEAD = true;

const uint PIECE_ELEMS = PIECE_BYTES / A_BYTES;
const uint INVOCATIONS = gl_WorkGroupSize.x * gl_WorkGroupSize.y;

// A block of B lies in shared memory as it lies in the buffer: TILE_K rows, or TILE_N columns.
const uint A_LINES = TILE_M;
const uint A_PIECES = TILE_K / PIECE_ELEMS;
const uint B_LINES = B_COL_MAJOR ? TILE_N : TILE_K;
const uint B_PIECES = (B_COL_MAJOR ? TILE_K : TILE_N) / PIECE_ELEMS;
const uint A_STRIDE = A_PIECES + PAD;
const uint B_STRIDE = B_PIECES + PAD;
const uint A_COPIES = A_LINES * A_PIECES / INVOCATIONS;
const uint B_COPIES = B_LINES * B_PIECES / INVOCATIONS;

const uint C_ROWS = TILE_M / SUBGROUP_ROWS / lM;
const uint C_COLS = TILE_N / SUBGROUP_COLS / lN;
const int LAYOUT_B =
    B_COL_MAJOR ? gl_CooperativeMatrixLayoutColumnMajor : gl_CooperativeMatrixLayoutRowMajor;

// The same two buffers again, in pieces.
layout(set = 0, binding = 0) readonly buffer PiecesA { PIECE x[]; } piecesA;
layout(set = 0, binding = 1) readonly buffer PiecesB { PIECE x[]; } piecesB;

shared PIECE sharedA[A_LINES * A_STRIDE];
shared PIECE sharedB[B_LINES * B_STRIDE];

// What this invocation copies in one step.
PIECE fetchedA[A_COPIES];
PIECE fetchedB[B_COPIES];

// Copies this invocation's pieces of the blocks that start at `k` to shared memory.
void copy(uint tileRow, uint tileColumn, uint k)
{
    uint pieceStrideA = strideA / PIECE_ELEMS;
    uint startA = pieceStrideA * tileRow + k / PIECE_ELEMS;
    for (uint n = 0; n < A_COPIES; ++n) {
        uint piece = n * INVOCATIONS + gl_LocalInvocationIndex;
        uint line = piece / A_PIECES;
        sharedA[A_STRIDE * line + piece % A_PIECES] = piecesA.x[startA + pieceStrideA * line + piece % A_PIECES];
    }
    uint pieceStrideB = strideB / PIECE_ELEMS;
    uint startB = indexB(k, tileColumn) / PIECE_ELEMS;
    for (uint n = 0; n < B_COPIES; ++n) {
        uint piece = n * INVOCATIONS + gl_LocalInvocationIndex;
        uint line = piece / B_PIECES;
        sharedB[B_STRIDE * line + piece % B_PIECES] = piecesB.x[startB + pieceStrideB * line + piece % B_PIECES];
    }
}

// Loads this invocation's pieces of the blocks that start at `k`.
void fetch(uint tileRow, uint tileColumn, uint k)
{
    uint pieceStrideA = strideA / PIECE_ELEMS;
    uint startA = pieceStrideA * tileRow + k / PIECE_ELEMS;
    for (uint n = 0; n < A_COPIES; ++n) {
        uint piece = n * INVOCATIONS + gl_LocalInvocationIndex;
        fetchedA[n] = piecesA.x[startA + pieceStrideA * (piece / A_PIECES) + piece % A_PIECES];
    }
    uint pieceStrideB = strideB / PIECE_ELEMS;
    uint startB = indexB(k, tileColumn) / PIECE_ELEMS;
    for (uint n = 0; n < B_COPIES; ++n) {
        uint piece = n * INVOCATIONS + gl_LocalInvocationIndex;
        fetchedB[n] = piecesB.x[startB + pieceStrideB * (piece / B_PIECES) + piece % B_PIECES];
    }
}

// Puts the fetched pieces where the whole work-group finds them.
void stage()
{
    for (uint n = 0; n < A_COPIES; ++n) {
        uint piece = n * INVOCATIONS + gl_LocalInvocationIndex;
        sharedA[A_STRIDE * (piece / A_PIECES) + piece % A_PIECES] = fetchedA[n];
    }
    for (uint n = 0; n < B_COPIES; ++n) {
        uint piece = n * INVOCATIONS + gl_LocalInvocationIndex;
        sharedB[B_STRIDE * (piece / B_PIECES) + piece % B_PIECES] = fetchedB[n];
    }
}

void main()
{
    uint tileRow = TILE_M * gl_WorkGroupID.y;
    uint tileColumn = TILE_N * gl_WorkGroupID.x;
    // This subgroup's part of the tile.
    uint partRow = lM * C_ROWS * (gl_SubgroupID / SUBGROUP_COLS);
    uint partColumn = lN * C_COLS * (gl_SubgroupID % SUBGROUP_COLS);

    coopmat<C_TYPE, gl_ScopeSubgroup, lM, lN, gl_MatrixUseAccumulator> matC[C_ROWS][C_COLS];
    for (uint i = 0; i < C_ROWS; ++i) {
        for (uint j = 0; j < C_COLS; ++j) {
            uint start = strideC * (tileRow + partRow + lM * i) + tileColumn + partColumn + lN * j;
            coopMatLoad(matC[i][j], inputC.x, start, strideC, gl_CooperativeMatrixLayoutRowMajor);
        }
    }

    if (FETCH_AHEAD) {
        fetch(tileRow, tileColumn, 0);
    }
    for (uint step = 0; step < K; step += TILE_K) {
        // The previous step's matrices must have been read before they are overwritten.
        barrier();
        if (FETCH_AHEAD) {
            stage();
        } else {
            copy(tileRow, tileColumn, step);
        }
        barrier();
        if (FETCH_AHEAD && step + TILE_K < K) {
            fetch(tileRow, tileColumn, step + TILE_K);
        }

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
    }

    for (uint i = 0; i < C_ROWS; ++i) {
        for (uint j = 0; j < C_COLS; ++j) {
            uint start = strideD * (tileRow + partRow + lM * i) + tileColumn + partColumn + lN * j;
            coopMatStore(matC[i][j], outputD.x, start, strideD, gl_CooperativeMatrixLayoutRowMajor);
        }
    }
}
