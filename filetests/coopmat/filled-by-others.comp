// Blocks of shared memory that are copied between two barriers of each round, which a GPU may have threads of their own do,
// some rounds ahead, and four subgroups that share columns and may multiply together: what is outside of a buffer is zero,
// also a part of a piece, a round may copy nothing or leave, and what is staged may be more than copies.
//
// test run
// define STAGES WHEN
// define LEAVES OUT
// define ROUNDS TIMES
// define HIGH ROWS
// define AHEAD BEFORE
// define CHANGE XOR
// define UPWARDS UP
// define CLEARS ZEROS
// define COLUMNS WIDTH
// define SCALE BY
// push u32 [DEPTH]
// in 0.0 f16 rand COUNT 1 -9 9 1
// in 0.1 f16 rand 32768 2 -9 9 1
// out 0.2 f32 16384 same
// keys COUNT=8192 WHEN=true OUT=false TIMES=1 ROWS=4 BEFORE=0 XOR=0 UP=0 ZEROS=0 WIDTH=64 BY=0
// case rounds: DEPTH=128
// case one-round: DEPTH=32
// case wide: DEPTH=96 WIDTH=256
// case no-round: DEPTH=0
// case barrier-first: DEPTH=128 BEFORE=1
// case side-by-side: DEPTH=128 ROWS=2
// case one-row: DEPTH=128 ROWS=1 BEFORE=1
// case twice: DEPTH=96 TIMES=2
// case part-of-a-piece: DEPTH=128 COUNT=8181
// case outside: DEPTH=128 COUNT=2000 ROWS=2
// case components: DEPTH=128 BY=3.0
// case returns: DEPTH=777
// case not-the-second: DEPTH=128 WHEN=(step!=32) ZEROS=1
// case some-copy: DEPTH=128 WHEN=(gl_LocalInvocationIndex<100) ZEROS=1
// case leaves: DEPTH=128 OUT=(step==64)
// case changed: DEPTH=128 XOR=0x80008000
// case not-staged: DEPTH=128 UP=1 ZEROS=1
#version 460
#include "matrices.glsl"

layout(local_size_x = 128) in;
layout(push_constant) uniform Depth { uint depth; };
layout(set = 0, binding = 0) readonly buffer InA { uvec4 a[]; };
layout(set = 0, binding = 1) readonly buffer InB { uvec4 b[]; };
layout(set = 0, binding = 2) writeonly buffer OutD { float d[]; };

// 64 rows of 32 halves, and 32 rows of 64 or more, each with a piece that is not used.
const uint PIECES = COLUMNS / 8;
const uint STRIDE = PIECES + 1;
shared uvec4 blockA[5 * 64 + 5];
shared uvec4 blockB[STRIDE * 32];

const uint WIDE = 4 / HIGH;
const uint C_ROWS = 4 / HIGH;
const uint C_COLS = COLUMNS / 16 / WIDE;

void main()
{
    uint i = gl_LocalInvocationIndex;
    if (depth > 128) {
        return;
    }
    // What lies where nothing is staged is the same everywhere.
    if (CLEARS != 0) {
        for (uint n = i; n < 5 * 64 + 5; n += 128) {
            blockA[n] = uvec4(0);
        }
        for (uint n = i; n < STRIDE * 32; n += 128) {
            blockB[n] = uvec4(0);
        }
        barrier();
    }
    uint row = 16 * C_ROWS * (gl_SubgroupID / WIDE);
    uint column = 16 * C_COLS * (gl_SubgroupID % WIDE);
    MATRIX(float, 16, 16, Accumulator) sums[C_ROWS][C_COLS];
    for (uint m = 0; m < C_ROWS; ++m) {
        for (uint n = 0; n < C_COLS; ++n) {
            sums[m][n] = MATRIX(float, 16, 16, Accumulator)(0.5);
        }
    }
    for (uint time = 0; time < ROUNDS; ++time) {
        for (uint step = 0; step < depth; step += 32) {
            if (AHEAD != 0) {
                barrier();
            }
            if (STAGES) {
                for (uint line = i / 4; line < 64; line += 32) {
                    uvec4 piece = a[16 * line + step / 8 + i % 4];
                    if (CHANGE != 0) {
                        piece ^= CHANGE;
                    }
                    blockA[5 * line + i % 4] = piece;
                }
                for (uint line = i / PIECES; line < 32; line += 128 / PIECES) {
                    blockB[STRIDE * line + i % PIECES] = b[PIECES * (step + line) + i % PIECES];
                }
            }
            barrier();
            for (uint k = 0; k < 32; k += 16) {
                MATRIX(float16_t, 16, 16, A) matA[C_ROWS];
                for (uint m = 0; m < C_ROWS; ++m) {
                    coopMatLoad(matA[m], blockA, 5 * (row + 16 * m + UPWARDS) + k / 8, 5, ROW_MAJOR);
                }
                for (uint n = 0; n < C_COLS; ++n) {
                    MATRIX(float16_t, 16, 16, B) matB;
                    coopMatLoad(matB, blockB, STRIDE * k + (column + 16 * n) / 8, STRIDE, ROW_MAJOR);
                    for (uint m = 0; m < C_ROWS; ++m) {
                        sums[m][n] = coopMatMulAdd(matA[m], matB, sums[m][n]);
                    }
                }
            }
            if (LEAVES) {
                break;
            }
            if (AHEAD == 0) {
                barrier();
            }
        }
    }
    for (uint m = 0; m < C_ROWS; ++m) {
        for (uint n = 0; n < C_COLS; ++n) {
            if (SCALE != 0) {
                for (uint c = 0; c < sums[m][n].length(); ++c) {
                    sums[m][n][c] *= SCALE;
                }
            }
            coopMatStore(sums[m][n], d, COLUMNS * (row + 16 * m) + column + 16 * n, COLUMNS, ROW_MAJOR);
        }
    }
}
