// Integer arithmetic at the ends of its range. Division by zero is undefined in GLSL and not tested.
//
// test run
// target interp passes cpu lowered
// in 0.0 i32 [7 -7 7 -7 -2147483648 2147483647 0 1]
// in 0.1 i32 [2 2 -2 -2 1 2147483647 5 -1]
// out 0.2 i32 [9 -5 5 -9 -2147483647 -2 5 0]
// out 0.3 i32 [5 -9 9 -5 2147483647 0 -5 2]
// out 0.4 i32 [14 -14 -14 14 -2147483648 1 0 -1]
// out 0.5 i32 [3 -3 -3 3 -2147483648 1 0 -1]
// out 0.6 i32 [1 1 1 1 0 0 0 0]
// out 0.7 u32 [0 2147483644 0 0 0 0 0 0]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer InA { int a[]; };
layout(set = 0, binding = 1) readonly buffer InB { int b[]; };
layout(set = 0, binding = 2) buffer O2 { int add[]; };
layout(set = 0, binding = 3) buffer O3 { int sub[]; };
layout(set = 0, binding = 4) buffer O4 { int mul[]; };
layout(set = 0, binding = 5) buffer O5 { int div[]; };
layout(set = 0, binding = 6) buffer O6 { int mod[]; };
layout(set = 0, binding = 7) buffer O7 { uint udiv[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    add[i] = a[i] + b[i];
    sub[i] = a[i] - b[i];
    mul[i] = a[i] * b[i];
    div[i] = a[i] / b[i];
    mod[i] = abs(a[i]) % 2 * int(i < 4);
    udiv[i] = i == 1 ? uint(a[i]) / uint(b[i]) : 0u;
}
