// The length of run-time arrays, behind a head and of elements of several sizes; rounded down.
//
// test run
// inout 0.0 i32 [0*10]
// out 0.0 i32 [8 5 1 0 0*6]
// in 0.1 i32 [0*7]
// in 0.2 i32 [0*6]
// in 0.3 i32 [0*2]
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Out { int first; int second; int x[]; };
layout(set = 0, binding = 1) buffer One { int head[2]; int a[]; };
layout(set = 0, binding = 2) buffer Two { int head2; vec4 b[]; };
layout(set = 0, binding = 3) buffer Three { int head3[4]; int c[]; };

void main()
{
    first = x.length();
    second = a.length();
    x[0] = b.length() + 1;
    x[1] = c.length();
}
