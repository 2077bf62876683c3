// The old values that atomic additions give are all different: each invocation takes a place of its own.
//
// test run
// subgroup 4 32
// dispatch 2 1 1
// inout 0.0 u32 [0]
// out 0.0 u32 [64]
// inout 0.1 u32 [0*64]
// out 0.1 u32 [1*64]
// out 0.2 u32 fill 64 1
#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Counter { uint counter; };
layout(set = 0, binding = 1) buffer Taken { uint taken[]; };
layout(set = 0, binding = 2) buffer Swapped { uint swapped[]; };
shared uint lock;

void main()
{
    uint place = atomicAdd(counter, 1);
    atomicAdd(taken[place], 1);
    if (gl_LocalInvocationIndex == 0)
        lock = 0;
    barrier();
    // Each number from 0 is exchanged away exactly once.
    uint old = atomicAdd(lock, 1);
    swapped[gl_WorkGroupID.x * 32 + old] = 1;
}
