// bitfieldExtract of both signs and bitfieldInsert, with widths of 0 and of everything.
//
// test run
// in 0.0 u32 [0xabcd1234 0xffffffff 0x000000f0 0x80000000]
// in 0.1 i32 [8 0 4 0]
// in 0.2 i32 [8 0 4 32]
// out 0.3 u32 [0x12 0 0xf 0x80000000]
// out 0.4 i32 [0x12 0 -1 -2147483648]
// out 0.5 u32 [0xabcd5a34 0xffffffff 0xa0 0x5a5a5a5a]
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) readonly buffer InV { uint a[]; };
layout(set = 0, binding = 1) readonly buffer InO { int offset[]; };
layout(set = 0, binding = 2) readonly buffer InB { int bits[]; };
layout(set = 0, binding = 3) buffer O3 { uint u[]; };
layout(set = 0, binding = 4) buffer O4 { int s[]; };
layout(set = 0, binding = 5) buffer O5 { uint inserted[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    u[i] = bitfieldExtract(a[i], offset[i], bits[i]);
    s[i] = bitfieldExtract(int(a[i]), offset[i], bits[i]);
    inserted[i] = bitfieldInsert(a[i], 0x5a5a5a5au, offset[i], bits[i]);
}
