// Each invocation writes its place of shared memory and reads another's after a barrier.
//
// test run
// subgroup 4 16 64 128
// dispatch 3 1 1
// out 0.0 u32 gen 192 = div(i, 64) * 100 + 63 - i % 64
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Out { uint x[]; };
shared uint place[64];

void main()
{
    uint i = gl_LocalInvocationIndex;
    place[i] = gl_WorkGroupID.x * 100 + i;
    barrier();
    x[gl_GlobalInvocationID.x] = place[63 - i];
}
