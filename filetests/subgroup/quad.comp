// Quads: broadcast of each, and the three swaps.
//
// test run
// out 0.0 i32 gen 128 = div(i, 4) * 4 + 2
// out 0.1 i32 gen 128 = xor(i, 1)
// out 0.2 i32 gen 128 = xor(i, 2)
// out 0.3 i32 gen 128 = xor(i, 3)
// case w4: W=4
// subgroup 4
// case w8: W=8
// subgroup 8
// case w16: W=16
// subgroup 16
// case w32: W=32
// subgroup 32
// case w64: W=64
// subgroup 64
// case w128: W=128
// subgroup 128
#version 450
#include "subgroup.glsl"
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) buffer O0 { int third[]; };
layout(set = 0, binding = 1) buffer O1 { int horizontal[]; };
layout(set = 0, binding = 2) buffer O2 { int vertical[]; };
layout(set = 0, binding = 3) buffer O3 { int diagonal[]; };

void main()
{
    int i = int(gl_LocalInvocationIndex);
    third[i] = subgroupQuadBroadcast(i, 2);
    horizontal[i] = subgroupQuadSwapHorizontal(i);
    vertical[i] = subgroupQuadSwapVertical(i);
    diagonal[i] = subgroupQuadSwapDiagonal(i);
}
