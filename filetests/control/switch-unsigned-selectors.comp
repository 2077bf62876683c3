// Case labels at the ends of the ranges of 32-bit selectors.
//
// test run
// in 0.0 u32 [0 0xffffffff 0x80000000 0x7fffffff]
// out 0.1 i32 [1 2 3 4]
// out 0.2 i32 [1 2 3 4]
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) buffer In { uint value[]; };
layout(set = 0, binding = 1) buffer OutU { int u[]; };
layout(set = 0, binding = 2) buffer OutS { int s[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    switch (value[i]) {
    case 0u: u[i] = 1; break;
    case 0xffffffffu: u[i] = 2; break;
    case 0x80000000u: u[i] = 3; break;
    default: u[i] = 4;
    }
    switch (int(value[i])) {
    case 0: s[i] = 1; break;
    case -1: s[i] = 2; break;
    case -2147483648: s[i] = 3; break;
    case 2147483647: s[i] = 4; break;
    default: s[i] = 5;
    }
}
