// A loop that never ends: the watchdog ends the dispatch with an error.
//
// test run
// target cpu
// timeout 200
// run-error did not end within
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Out { volatile uint x[]; };

void main()
{
    while (x[0] != 12345u)
        x[gl_LocalInvocationID.x + 1] = 1;
}
