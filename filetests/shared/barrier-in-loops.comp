// Barriers in nested uniform loops and branches; values in variables survive them.
//
// test run
// subgroup 4 16 32
// dispatch 2 1 1
// out 0.0 i32 gen 64 = (i % 32) * 10 + sum(t, 4, (i % 32 + 1 + t) % 32 * (t + 1))
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Out { int x[]; };
shared int ring[32];

void main()
{
    int i = int(gl_LocalInvocationIndex);
    int keep = i * 10, sum = 0;
    for (int round = 0; round < 2; ++round) {
        for (int t = 0; t < 2; ++t) {
            int turn = round * 2 + t;
            if (turn % 2 == 0) {
                ring[i] = i;
                barrier();
            } else {
                barrier();
                ring[31 - i] = 31 - i;
                barrier();
            }
            sum += ring[(i + 1 + turn) % 32] * (turn + 1);
            barrier();
            ring[i] = -1;
        }
        barrier();
    }
    x[gl_GlobalInvocationID.x] = keep + sum;
}
