// Atomic operations of 64 invocations on storage: the results do not depend on the order.
//
// test run
// target interp passes cpu lowered
// subgroup 4 32
// dispatch 3 1 1
// inout 0.0 i32 [0 0 0 0 0 -1 0 1000 7 5]
// out 0.0 i32 [192 -192 -191 191 255 64 0 1000 ? 5]
// inout 0.1 u32 [4294967295 0 100]
// out 0.1 u32 [0 4294967295 100]
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Data { int x[]; };
layout(set = 0, binding = 1) buffer Unsigned { uint u[]; };

void main()
{
    int i = int(gl_GlobalInvocationID.x);
    atomicAdd(x[0], 1);
    atomicAdd(x[1], -1);
    atomicMin(x[2], -i);
    atomicMax(x[3], i);
    atomicOr(x[4], i);
    atomicAnd(x[5], i % 2 == 0 ? 64 : 64 + 1 + 128);
    atomicXor(x[6], i);
    // Only a value that is there is replaced.
    atomicCompSwap(x[7], 1, 5);
    atomicExchange(x[8], i);
    atomicCompSwap(x[9], 5, 5);
    atomicMin(u[0], uint(i));
    atomicMax(u[1], uint(-1 - i));
    atomicAdd(u[2], 0xffffffffu);
    atomicAdd(u[2], 1u);
}
