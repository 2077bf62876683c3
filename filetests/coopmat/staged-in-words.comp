// Blocks that are fetched a round ahead and lie in shared memory as vectors of four words, so that where a matrix begins is a
// quotient; matrices of 8×8 whose place depends on the subgroup, in two slices of each block; and at the end a sum of
// multiples of the results and of matrices that are loaded then.
//
// test run
// target interp passes cpu lowered
// subgroup 32
// in 0.0 f16 gen 2048 = i * 7 % 13 - 6
// in 0.1 f16 gen 2048 = i * 5 % 11 - 5
// in 0.2 f32 gen 1024 = i * 3 % 17 - 8
// out 0.3 f32 gen 32 x 32 = 2 * sum(k, 64, $0.0[r * 64 + k] * $0.1[k * 32 + c]) + 3 * $0.2[r * 32 + c]
#version 460
#include "matrices.glsl"

const uint DEPTH = 16;
const uint TILE = 32;
const uint K = 64;
const uint WORDS = 8;
// Rows of both blocks are padded.
const uint ROW_A = DEPTH + WORDS;
const uint ROW_B = TILE + WORDS;

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer InA { uvec4 a[]; };
layout(set = 0, binding = 1) readonly buffer InB { uvec4 b[]; };
layout(set = 0, binding = 2) readonly buffer InC { float c[]; };
layout(set = 0, binding = 3) buffer Sums { float sums[]; };
shared uvec4 sharedA[TILE * ROW_A / WORDS];
shared uvec4 sharedB[DEPTH * ROW_B / WORDS];

uint place(uint row, uint column, uint stride)
{
    return row * stride + column;
}

void main()
{
    MATRIX(float, 8, 8, Accumulator) result[2][4];
    for (uint i = 0; i < 2; ++i)
        for (uint j = 0; j < 4; ++j)
            result[i][j] = MATRIX(float, 8, 8, Accumulator)(0.0);

    uint l = gl_LocalInvocationIndex;
    uint rowA = l / (DEPTH / WORDS);
    uint columnA = WORDS * (l % (DEPTH / WORDS));
    uint rowB = l / (TILE / WORDS);
    uint columnB = WORDS * (l % (TILE / WORDS));
    uvec4 aheadA = a[place(rowA, columnA, K) / WORDS];
    uvec4 aheadB = b[place(rowB, columnB, TILE) / WORDS];

    for (uint chunk = 0; chunk < K; chunk += DEPTH) {
        barrier();
        sharedA[place(rowA, columnA, ROW_A) / WORDS] = aheadA;
        sharedB[place(rowB, columnB, ROW_B) / WORDS] = aheadB;
        barrier();
        if (chunk + DEPTH < K) {
            aheadA = a[place(rowA, chunk + DEPTH + columnA, K) / WORDS];
            aheadB = b[place(chunk + DEPTH + rowB, columnB, TILE) / WORDS];
        }
        for (uint k = 0; k < DEPTH; k += 8) {
            MATRIX(float16_t, 8, 8, A) matA[2];
            for (uint i = 0; i < 2; ++i) {
                uint row = 8 * (2 * gl_SubgroupID + i);
                coopMatLoad(matA[i], sharedA, place(row, k, ROW_A) / WORDS, ROW_A / WORDS, ROW_MAJOR);
            }
            for (uint j = 0; j < 4; ++j) {
                MATRIX(float16_t, 8, 8, B) matB;
                coopMatLoad(matB, sharedB, place(k, 8 * j, ROW_B) / WORDS, ROW_B / WORDS, ROW_MAJOR);
                for (uint i = 0; i < 2; ++i) result[i][j] = coopMatMulAdd(matA[i], matB, result[i][j]);
            }
        }
    }

    for (uint i = 0; i < 2; ++i) {
        uint row = 8 * (2 * gl_SubgroupID + i);
        MATRIX(float, 8, 8, Accumulator) old[4];
        for (uint j = 0; j < 4; ++j) coopMatLoad(old[j], c, place(row, 8 * j, TILE), TILE, ROW_MAJOR);
        for (uint j = 0; j < 4; ++j) {
            result[i][j] = 2.0 * result[i][j] + 3.0 * old[j];
            coopMatStore(result[i][j], sums, place(row, 8 * j, TILE), TILE, ROW_MAJOR);
        }
    }
}
