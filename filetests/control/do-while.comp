// A body that runs at least once, with a continue that goes to the condition.
//
// test run
// subgroup 4 32
// out 0.0 i32 [1 1 2 3 5 6 7 8]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Out { int x[]; };

void main()
{
    int n = int(gl_LocalInvocationID.x), i = 0, r = 0;
    do {
        ++i;
        if (i == 4)
            continue;
        ++r;
    } while (i < n);
    x[n] = n >= 4 ? r + 2 : r;
}
