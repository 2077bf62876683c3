// Trip counts that nothing predicts; the known lengths of Collatz walks from 1 to 16.
//
// test run
// subgroup 4 16 32
// out 0.0 u32 [0 1 7 2 5 8 16 3 19 6 14 9 9 17 17 4]
#version 450
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Out { uint x[]; };

void main()
{
    uint n = gl_LocalInvocationID.x + 1, steps = 0;
    while (n != 1) {
        n = (n & 1u) == 0u ? n / 2 : 3 * n + 1;
        ++steps;
    }
    x[gl_LocalInvocationID.x] = steps;
}
