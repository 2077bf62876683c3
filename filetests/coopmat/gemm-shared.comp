// A product staged through shared memory by a work-group of several subgroups, each of which computes a part.
//
// test run
// target interp passes cpu lowered
// subgroup 16 32
// dispatch 2 1 1
// in 0.0 f16 rand 1024 1 -1 1 0.5
// in 0.1 f16 rand 2048 2 -1 1 0.5
// out 0.2 f32 gen 32 x 64 = sum(k, 32, $0.0[r * 32 + k] * $0.1[k * 64 + c])
#version 460
#include "matrices.glsl"

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer InA { f16vec4 a[]; };
layout(set = 0, binding = 1) readonly buffer InB { f16vec4 b[]; };
layout(set = 0, binding = 2) buffer OutC { float c[]; };
// Tiles of 32 x 16 of A and of 16 x 32 of B, in vectors of four, rows padded by one vector.
shared f16vec4 tileA[32 * 5];
shared f16vec4 tileB[16 * 9];

void main()
{
    uint i = gl_LocalInvocationIndex;
    uint column = gl_WorkGroupID.x * 32;
    // There are more parts than subgroups, or fewer.
    MATRIX(float, 16, 16, Accumulator) sum[4];
    for (uint p = 0; p < 4; ++p)
        sum[p] = MATRIX(float, 16, 16, Accumulator)(0.0);
    for (uint k = 0; k < 32; k += 16) {
        tileA[i / 4 * 5 + i % 4] = a[i / 4 * 8 + k / 4 + i % 4];
        tileB[i / 8 * 9 + i % 8] = b[(k + i / 8) * 16 + column / 4 + i % 8];
        barrier();
        for (uint p = gl_SubgroupID; p < 4; p += gl_NumSubgroups) {
            MATRIX(float16_t, 16, 16, A) matA;
            MATRIX(float16_t, 16, 16, B) matB;
            coopMatLoad(matA, tileA, p / 2 * 16 * 5, 5, ROW_MAJOR);
            coopMatLoad(matB, tileB, p % 2 * 4, 9, ROW_MAJOR);
            sum[p] = coopMatMulAdd(matA, matB, sum[p]);
        }
        barrier();
    }
    for (uint p = gl_SubgroupID; p < 4; p += gl_NumSubgroups)
        coopMatStore(sum[p], c, p / 2 * 16 * 64 + column + p % 2 * 16, 64, ROW_MAJOR);
}
