// A switch in a loop: `break` leaves the switch, `continue` the iteration, and a flag the loop.
//
// test run
// subgroup 4 16
// out 0.0 i32 [0 30 31 36 37 37 37 37]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Out { int x[]; };

void main()
{
    int limit = int(gl_LocalInvocationID.x);
    int sum = 0;
    for (int i = 0; i < limit; ++i) {
        switch (i) {
        case 0:
            sum += 10;
            // falls through
        case 10:
            sum += 20;
            break;
        case 1:
            sum += 1;
            continue;
        case 2:
            sum += 5;
            break;
        case 3:
            sum += 1;
            i = 1000;
            break;
        }
    }
    x[limit] = sum;
}
