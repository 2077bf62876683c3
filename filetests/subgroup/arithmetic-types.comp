// Reductions of 8-, 16- and 64-bit numbers, f16, f64 and of booleans by vectors; sums wrap at their width.
//
// test run
// out 0.0 i8 gen 128 = sum(k, W, i8(div(i, W) * W + k))
// out 0.1 u16 gen 128 = sum(k, i % W + 1, 1000)
// out 0.2 i64 gen 128 = sum(k, W, (div(i, W) * W + k) * 10000000000)
// out 0.3 f64 gen 128 = sum(k, W, (div(i, W) * W + k) * 0.125)
// out 0.4 f16 gen 128 = div(i, W) * W + W - 1
// out 0.5 u32 gen 128 = (div(i, W) == 0 ? 1 : 0) + 2
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
layout(set = 0, binding = 0) buffer O0 { int8_t a[]; };
layout(set = 0, binding = 1) buffer O1 { uint16_t b[]; };
layout(set = 0, binding = 2) buffer O2 { int64_t c[]; };
layout(set = 0, binding = 3) buffer O3 { double d[]; };
layout(set = 0, binding = 4) buffer O4 { float16_t e[]; };
layout(set = 0, binding = 5) buffer O5 { uint f[]; };

void main()
{
    uint i = gl_LocalInvocationIndex;
    a[i] = subgroupAdd(int8_t(i));
    b[i] = subgroupInclusiveAdd(uint16_t(1000));
    c[i] = subgroupAdd(int64_t(i) * 10000000000l);
    d[i] = subgroupAdd(double(i) * 0.125lf);
    e[i] = subgroupMax(float16_t(i));
    bvec2 v = subgroupOr(bvec2(i == 0, true));
    f[i] = uint(v.x) + 2 * uint(v.y);
}
