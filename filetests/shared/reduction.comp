// A tree reduction with a barrier in a loop, in work-groups of two dimensions.
//
// test run
// target interp passes cpu lowered
// subgroup 4 32 128
// dispatch 2 2 1
// in 0.0 i32 rand 512 11 -1000 1000
// out 0.1 i32 gen 4 = sum(k, 128, $0.0[i * 128 + k])
#version 450
layout(local_size_x = 16, local_size_y = 8) in;
layout(set = 0, binding = 0) readonly buffer In { int a[]; };
layout(set = 0, binding = 1) buffer Out { int x[]; };
shared int part[128];

void main()
{
    uint group = gl_WorkGroupID.y * 2 + gl_WorkGroupID.x;
    uint i = gl_LocalInvocationIndex;
    part[i] = a[group * 128 + i];
    for (uint step = 64; step > 0; step /= 2) {
        barrier();
        if (i < step)
            part[i] += part[i + step];
    }
    barrier();
    if (i == 0)
        x[group] = part[0];
}
