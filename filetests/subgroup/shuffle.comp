// Shuffles and broadcasts. What a shuffle reads from a lane that is not there is undefined and not compared.
//
// test run
// out 0.0 i32 gen 128 = (i - i % W) + (W - 1 - i % W)
// out 0.1 i32 gen 128 = (i - i % W) + xor(i % W, 3)
// out 0.2 i32 gen 128 = i % W >= 2 ? i - 2 : -1
// out 0.3 i32 gen 128 = i % W < W - 1 ? i + 1 : -1
// out 0.4 i32 gen 128 = (i - i % W) + 3
// out 0.5 i32 gen 128 = (i - i % W) + (i % 2)
// out 0.6 f32 gen 128 = (i - i % W + xor(i % W, 1)) * 0.5 + 100
// out 0.7 i64 gen 128 = (i - i % W + xor(i % W, 2)) * -10000000000
// out 0.8 u32 gen 128 = (i - i % W + xor(i % W, 1)) % 3 == 0 ? 1 : 0
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
layout(set = 0, binding = 0) buffer O0 { int reversed[]; };
layout(set = 0, binding = 1) buffer O1 { int crossed[]; };
layout(set = 0, binding = 2) buffer O2 { int up[]; };
layout(set = 0, binding = 3) buffer O3 { int down[]; };
layout(set = 0, binding = 4) buffer O4 { int third[]; };
layout(set = 0, binding = 5) buffer O5 { int first[]; };
layout(set = 0, binding = 6) buffer O6 { float real[]; };
layout(set = 0, binding = 7) buffer O7 { int64_t wide[]; };
layout(set = 0, binding = 8) buffer O8 { uint truth[]; };

void main()
{
    int i = int(gl_LocalInvocationIndex);
    uint lane = gl_SubgroupInvocationID;
    reversed[i] = subgroupShuffle(i, gl_SubgroupSize - 1 - lane);
    crossed[i] = subgroupShuffleXor(i, 3);
    int v = subgroupShuffleUp(i, 2);
    up[i] = lane >= 2 ? v : -1;
    v = subgroupShuffleDown(i, 1);
    down[i] = lane < gl_SubgroupSize - 1 ? v : -1;
    third[i] = subgroupBroadcast(i, 3);
    if ((i & 1) == 1)
        first[i] = subgroupBroadcastFirst(i);
    else
        first[i] = subgroupBroadcastFirst(i);
    vec2 pair = subgroupShuffleXor(vec2(100, i) * vec2(1, 0.5), 1);
    real[i] = pair.x + pair.y;
    wide[i] = subgroupShuffleXor(int64_t(i) * -10000000000l, 2);
    truth[i] = uint(subgroupShuffleXor(i % 3 == 0, 1));
}
