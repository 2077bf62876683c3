// Invocations end at different iterations; those that are left go on.
//
// test run
// subgroup 4 8
// out 0.0 i32 [0 1 2 3 4 5 6 7]
// out 0.1 i32 [0 0 0 0 0 0 0 7]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Out { int x[]; };
layout(set = 0, binding = 1) buffer Last { int last[]; };

void main()
{
    int me = int(gl_LocalInvocationID.x);
    last[me] = 0;
    for (int i = 0; i < 100; ++i) {
        if (i == me) {
            x[me] = i;
            if (me != 7)
                return;
        }
        if (i == 50)
            break;
    }
    last[me] = me;
}
