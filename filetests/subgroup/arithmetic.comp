// Reductions and scans of integers and floats over whole subgroups.
//
// test run
// target interp passes cpu lowered
// out 0.0 i32 gen 128 = sum(k, W, div(i, W) * W + k)
// out 0.1 i32 gen 128 = sum(k, i % W + 1, div(i, W) * W + k)
// out 0.2 i32 gen 128 = sum(k, i % W, div(i, W) * W + k)
// out 0.3 i32 gen 128 = -(div(i, W) * W + W - 1) * 1000
// out 0.4 u32 gen 128 = div(i, W) * W + W - 1 + 1000
// out 0.5 f32 gen 128 = sum(k, W, (div(i, W) * W + k) * 0.5)
// out 0.6 i32 gen 128 = i % W >= 3 ? 24 : i % W >= 2 ? 6 : i % W >= 1 ? 2 : 1
// out 0.7 i32 gen 128 = i % W >= 1 ? -(i - 1) : 2147483647
// out 0.8 u32 gen 128 = W - 1
// out 0.9 u32 fill 128 0
// out 0.10 f32 gen 128 = i % W == 0 ? 0 : sum(k, i % W, 0.25)
// out 0.11 i32 fill 128 -1
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
layout(set = 0, binding = 0) buffer O0 { int sum[]; };
layout(set = 0, binding = 1) buffer O1 { int inclusive[]; };
layout(set = 0, binding = 2) buffer O2 { int exclusive[]; };
layout(set = 0, binding = 3) buffer O3 { int smallest[]; };
layout(set = 0, binding = 4) buffer O4 { uint greatest[]; };
layout(set = 0, binding = 5) buffer O5 { float fsum[]; };
layout(set = 0, binding = 6) buffer O6 { int product[]; };
layout(set = 0, binding = 7) buffer O7 { int minscan[]; };
layout(set = 0, binding = 8) buffer O8 { uint or_[]; };
layout(set = 0, binding = 9) buffer O9 { uint xor_[]; };
layout(set = 0, binding = 10) buffer O10 { float fscan[]; };
layout(set = 0, binding = 11) buffer O11 { int and_[]; };

void main()
{
    int i = int(gl_LocalInvocationIndex);
    uint lane = gl_SubgroupInvocationID;
    sum[i] = subgroupAdd(i);
    inclusive[i] = subgroupInclusiveAdd(i);
    exclusive[i] = subgroupExclusiveAdd(i);
    smallest[i] = subgroupMin(-i * 1000);
    greatest[i] = subgroupMax(uint(i)) + 1000;
    fsum[i] = subgroupAdd(float(i) * 0.5);
    product[i] = subgroupInclusiveMul(lane < 4 ? int(lane) + 1 : 1);
    minscan[i] = subgroupExclusiveMin(-i);
    or_[i] = subgroupOr(lane);
    xor_[i] = subgroupXor(lane);
    fscan[i] = subgroupExclusiveAdd(0.25);
    and_[i] = subgroupAnd(-1) | int(subgroupAnd(lane));
}
