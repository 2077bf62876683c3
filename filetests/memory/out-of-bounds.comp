// Bounds of buffers: reads behind the end give zero, writes vanish; so it is with scalars, vectors and numbers that
// are partly outside, with negative and with enormous indices.
//
// test run
// subgroup 4 32
// in 0.0 i32 [1 2 3 4]
// inout 0.1 i32 [9*8]
// out 0.1 i32 [1 2 3 4 0 0 0 0]
// inout 0.2 i32 [5 6]
// out 0.2 i32 [100 101]
// inout 0.3 i32 [7 7 7]
// out 0.3 i32 [7 7 7]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer In { int a[]; };
layout(set = 0, binding = 1) buffer Out { int x[]; };
layout(set = 0, binding = 2) buffer Small { int s[]; };
layout(set = 0, binding = 3) buffer Three { int t[]; };

void main()
{
    int i = int(gl_LocalInvocationID.x);
    x[i] = a[i];
    s[i] = 100 + i;
    t[-1 - i] = 50;
    t[i * 0x10000000 + 3] = 51;
    x[i + 0x3fffffff] = 52;
    int low = a[i - 1000000] + a[0x7fffffff - i];
    if (low != 0)
        x[i] = -1;
}
