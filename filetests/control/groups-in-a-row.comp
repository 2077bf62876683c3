// Work-groups whose subgroups do not wait for each other, more than a thread takes at a time: each begins anew, with
// variables that are zero, whatever way the one before it ended.
//
// test run
// subgroup 4 32
// dispatch 21 3 2
// out 0.0 u32 gen 6048 = i + (i % 48 < 24) * (div(i, 48) % 5)
#version 450
layout(local_size_x = 48) in;
layout(set = 0, binding = 0) buffer Out { uint x[]; };

void main()
{
    uint group = gl_WorkGroupID.x + 21 * (gl_WorkGroupID.y + 3 * gl_WorkGroupID.z);
    uint i = group * 48 + gl_LocalInvocationIndex;
    uint sum = 0;
    if (gl_LocalInvocationIndex < 24)
        for (uint k = 0; k < group % 5; ++k) {
            sum += 1;
            if (sum == 4) {
                x[i] = i + sum;
                return;
            }
        }
    x[i] = i + sum;
}
