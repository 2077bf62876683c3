// Shifts, bit operations and the bit functions of GLSL.
//
// test run
// in 0.0 u32 [0 1 0x80000000 0xffffffff 0x00f0 12345 0x7fffffff 6]
// out 0.1 u32 [0 16 0 0xfffffff0 0xf00 197520 0xfffffff0 96]
// out 0.2 u32 [0 0 0x08000000 0x0fffffff 0xf 771 0x07ffffff 0]
// out 0.3 i32 [0 0 -134217728 -1 15 771 134217727 0]
// out 0.4 i32 [0 1 1 32 4 6 31 2]
// out 0.5 i32 [-1 0 31 0 4 0 0 1]
// out 0.6 i32 [-1 0 31 31 7 13 30 2]
// out 0.7 i32 [-1 0 30 -1 7 13 30 2]
// out 0.8 u32 [0 0x80000000 1 0xffffffff 0x0f000000 0x9c0c0000 0xfffffffe 0x60000000]
// out 0.9 u32 [0xffffffff 0xfffffffe 0x7fffffff 0 0xffffff0f 0xffffcfc6 0x80000000 0xfffffff9]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer In { uint a[]; };
layout(set = 0, binding = 1) buffer O1 { uint left[]; };
layout(set = 0, binding = 2) buffer O2 { uint right[]; };
layout(set = 0, binding = 3) buffer O3 { int arithmetic[]; };
layout(set = 0, binding = 4) buffer O4 { int count[]; };
layout(set = 0, binding = 5) buffer O5 { int lsb[]; };
layout(set = 0, binding = 6) buffer O6 { int msb[]; };
layout(set = 0, binding = 7) buffer O7 { int smsb[]; };
layout(set = 0, binding = 8) buffer O8 { uint reverse[]; };
layout(set = 0, binding = 9) buffer O9 { uint inverse[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    left[i] = a[i] << 4;
    right[i] = a[i] >> 4;
    arithmetic[i] = int(a[i]) >> 4;
    count[i] = bitCount(a[i]);
    lsb[i] = findLSB(a[i]);
    msb[i] = findMSB(a[i]);
    smsb[i] = findMSB(int(a[i]));
    reverse[i] = bitfieldReverse(a[i]);
    inverse[i] = ~a[i];
}
