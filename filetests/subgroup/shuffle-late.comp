// Shuffles whose lanes are known only when code runs, and loops over the distances of lanes.
//
// test run
// in 0.0 i32 gen 128 = (i * 37 + 11) % W
// out 0.1 i32 gen 128 = (i - i % W) + (i * 37 + 11) % W + 1000
// out 0.2 f32 gen 128 = ((i - i % W) + (i * 37 + 11) % W) * 0.5
// out 0.3 i64 gen 128 = ((i - i % W) + (i * 37 + 11) % W) * 10000000000
// out 0.4 u32 gen 128 = ((i - i % W) + (i * 37 + 11) % W) % 3 == 0 ? 1 : 0
// out 0.5 i32 gen 128 = (i * 37 + 11) % W % 2 == 1 && i % 2 == 1 ? (i - i % W) + (i * 37 + 11) % W : -1
// out 0.6 i32 gen 128 = (i - i % W) * W + W * (W - 1) / 2
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
layout(set = 0, binding = 0) readonly buffer In { uint from[]; };
layout(set = 0, binding = 1) buffer O1 { int whole[]; };
layout(set = 0, binding = 2) buffer O2 { float real[]; };
layout(set = 0, binding = 3) buffer O3 { int64_t wide[]; };
layout(set = 0, binding = 4) buffer O4 { uint truth[]; };
layout(set = 0, binding = 5) buffer O5 { int some[]; };
layout(set = 0, binding = 6) buffer O6 { int sums[]; };

void main()
{
    int i = int(gl_LocalInvocationIndex);
    uint lane = from[i];
    whole[i] = subgroupShuffle(i + 1000, lane);
    real[i] = subgroupShuffle(float(i) * 0.5, lane);
    wide[i] = subgroupShuffle(int64_t(i) * 10000000000l, lane);
    truth[i] = uint(subgroupShuffle(i % 3 == 0, lane));
    some[i] = -1;
    if (i % 2 == 1) {
        int v = subgroupShuffle(i, lane);
        if (lane % 2 == 1)
            some[i] = v;
    }
    int sum = i;
    for (uint apart = gl_SubgroupSize / 2; apart > 0; apart /= 2)
        sum += subgroupShuffleXor(sum, apart);
    sums[i] = sum;
}
