// Integer functions: extended multiplication, carry and borrow, minima and clamps of both signs.
//
// test run
// target interp passes cpu lowered
// in 0.0 u32 [0xffffffff 0x80000000 3 100000]
// in 0.1 u32 [0xffffffff 2 0xffffffff 100000]
// out 0.2 u32 [1 0 0xfffffffd 1410065408]
// out 0.3 u32 [0xfffffffe 1 2 2]
// out 0.4 i32 [0 -1 -1 2]
// out 0.5 u32 [0xfffffffe 0x80000002 2 200000]
// out 0.6 u32 [1 0 1 0]
// out 0.7 u32 [0 0x7ffffffe 4 0]
// out 0.8 u32 [0 0 1 0]
// out 0.9 i32 [-1 -5 3 10]
// out 0.10 u32 [10 10 3 10]
// out 0.11 i32 [1 2147483647 3 100000]
// out 0.12 i32 [-1 -1 1 1]
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) readonly buffer I0 { uint a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { uint b[]; };
layout(set = 0, binding = 2) buffer O2 { uint low[]; };
layout(set = 0, binding = 3) buffer O3 { uint high[]; };
layout(set = 0, binding = 4) buffer O4 { int shigh[]; };
layout(set = 0, binding = 5) buffer O5 { uint sum[]; };
layout(set = 0, binding = 6) buffer O6 { uint carry[]; };
layout(set = 0, binding = 7) buffer O7 { uint difference[]; };
layout(set = 0, binding = 8) buffer O8 { uint borrow[]; };
layout(set = 0, binding = 9) buffer O9 { int sclamp[]; };
layout(set = 0, binding = 10) buffer O10 { uint uclamp[]; };
layout(set = 0, binding = 11) buffer O11 { int magnitude[]; };
layout(set = 0, binding = 12) buffer O12 { int sgn[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    umulExtended(a[i], b[i], high[i], low[i]);
    int h, l;
    imulExtended(int(a[i]), int(b[i]), h, l);
    shigh[i] = h;
    sum[i] = uaddCarry(a[i], b[i], carry[i]);
    difference[i] = usubBorrow(a[i], b[i], borrow[i]);
    sclamp[i] = clamp(int(a[i]), -5, 10);
    uclamp[i] = clamp(a[i], 2u, 10u);
    magnitude[i] = i == 1 ? abs(int(a[i]) + 1) : abs(int(a[i]));
    sgn[i] = sign(int(a[i]));
}
