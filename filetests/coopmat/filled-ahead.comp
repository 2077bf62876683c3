// Blocks of shared memory that a round fetches for the next one, which a GPU may copy there right away: what is not fetched
// stays as it was (a condition in the middle, or of some invocations), what is outside of a buffer is zero, also a part of a
// piece, and blocks may lie elsewhere in each round or be read where nothing was staged.
//
// test run
// define MORE WHEN
// define SHIFT BY
// define UPWARDS UP
// push u32 [DEPTH]
// in 0.0 f16 rand COUNT 1 -9 9 1
// in 0.1 f16 rand 2048 2 -9 9 1
// out 0.2 f32 512 same
// keys COUNT=4096 BY=0 UP=0
// case rounds: DEPTH=128 WHEN=(step+32<depth)
// case one-round: DEPTH=32 WHEN=(step+32<depth)
// case no-round: DEPTH=0 WHEN=(step+32<depth)
// case always: DEPTH=96 WHEN=(depth!=0)
// case not-the-second: DEPTH=128 WHEN=(step!=32)
// case some-fetch: DEPTH=128 WHEN=(gl_LocalInvocationIndex<40)
// case part-of-a-piece: DEPTH=128 WHEN=(step+32<depth) COUNT=4085
// case outside: DEPTH=128 WHEN=(step+32<depth) COUNT=1000
// case elsewhere: DEPTH=128 WHEN=(step+32<depth) BY=(step/32%2)
// case not-staged: DEPTH=128 WHEN=(step+32<depth) UP=1
#version 460
#include "matrices.glsl"

layout(local_size_x = 64) in;
layout(push_constant) uniform Depth { uint depth; };
layout(set = 0, binding = 0) readonly buffer InA { uvec4 a[]; };
layout(set = 0, binding = 1) readonly buffer InB { uvec4 b[]; };
layout(set = 0, binding = 2) writeonly buffer OutD { float d[]; };

// 32 rows of 32 halves, and 32 rows of 16, each with a piece that is not used.
shared uvec4 blockA[5 * 32 + 5];
shared uvec4 blockB[3 * 32];
uvec4 fetchedA[2];
uvec4 fetchedB;

void fetch(uint step)
{
    uint i = gl_LocalInvocationIndex;
    for (uint n = 0; n < 2; ++n) {
        fetchedA[n] = a[16 * ((64 * n + i) / 4) + step / 8 + i % 4];
    }
    fetchedB = b[2 * step + i];
}

void stage(uint shift)
{
    uint i = gl_LocalInvocationIndex;
    for (uint n = 0; n < 2; ++n) {
        blockA[5 * ((64 * n + i) / 4 + shift) + i % 4] = fetchedA[n];
    }
    blockB[3 * (i / 2) + i % 2] = fetchedB;
}

void main()
{
    // What lies where nothing is staged is the same everywhere.
    if (UPWARDS != 0) {
        for (uint i = gl_LocalInvocationIndex; i < 5 * 32 + 5; i += 64) {
            blockA[i] = uvec4(0);
        }
    }
    MATRIX(float, 16, 16, Accumulator) sum = MATRIX(float, 16, 16, Accumulator)(0.0);
    fetch(0);
    for (uint step = 0; step < depth; step += 32) {
        barrier();
        stage(SHIFT);
        barrier();
        if (MORE) {
            fetch(step + 32);
        }
        for (uint k = 0; k < 32; k += 16) {
            MATRIX(float16_t, 16, 16, A) matA;
            coopMatLoad(matA, blockA, 5 * (16 * gl_SubgroupID + SHIFT + UPWARDS) + k / 8, 5, ROW_MAJOR);
            MATRIX(float16_t, 16, 16, B) matB;
            coopMatLoad(matB, blockB, 3 * k, 3, ROW_MAJOR);
            sum = coopMatMulAdd(matA, matB, sum);
        }
    }
    coopMatStore(sum, d, 256 * gl_SubgroupID, 16, ROW_MAJOR);
}
