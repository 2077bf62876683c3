// Several continues and breaks in nested loops with trip counts that differ between invocations.
// The expected numbers were worked out by the same rules on paper:
// the inner loop adds j for even j up to the first j > i, the outer skips i = 2 and ends at 5.
//
// test run
// target interp passes cpu lowered
// subgroup 4 32
// out 0.0 i32 [0 0 0 0 2 8 8 8]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Out { int x[]; };

void main()
{
    int n = int(gl_LocalInvocationID.x);
    int sum = 0;
    for (int i = 0; i < n; ++i) {
        if (i == 2)
            continue;
        if (i == 5)
            break;
        for (int j = 0;; ++j) {
            if (j > i)
                break;
            if ((j & 1) == 1)
                continue;
            sum += j;
        }
    }
    x[n] = sum;
}
