// Each subgroup of each work-group computes a tile of its own, in two dimensions of work-groups.
//
// test run
// dispatch 2 3 1
// in 0.0 i8 rand 768 1 -100 100
// in 0.1 i8 rand 256 2 -100 100
// out 0.2 i32 gen 48 x 16 = sum(k, 16, $0.0[r * 16 + k] * $0.1[k * 16 + c])
// case w16:
// subgroup 16
// case w32:
// subgroup 32
// case w4:
// subgroup 4
#version 460
#include "matrices.glsl"

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer InA { int8_t a[]; };
layout(set = 0, binding = 1) readonly buffer InB { int8_t b[]; };
layout(set = 0, binding = 2) buffer OutC { int c[]; };

void main()
{
    MATRIX(int8_t, 4, 16, A) matA;
    MATRIX(int8_t, 16, 4, B) matB;
    // A work-group has 16 rows and 8 columns: eight tiles.
    for (uint t = gl_SubgroupID; t < 8; t += gl_NumSubgroups) {
        uint row = gl_WorkGroupID.y * 16 + t / 2 * 4, column = gl_WorkGroupID.x * 8 + t % 2 * 4;
        coopMatLoad(matA, a, row * 16, 16, ROW_MAJOR);
        coopMatLoad(matB, b, column, 16, ROW_MAJOR);
        coopMatStore(coopMatMulAdd(matA, matB, MATRIX(int, 4, 4, Accumulator)(0)), c, row * 16 + column, 16, ROW_MAJOR);
    }
}
