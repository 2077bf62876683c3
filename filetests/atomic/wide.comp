// 64-bit atomics in storage and in shared memory.
//
// test run
// subgroup 4 32
// inout 0.0 i64 [0 0 9223372036854775807 -1]
// out 0.0 i64 [320000000000 -31 0 31]
// inout 0.1 u64 [0 0xffffffffffffffff 0]
// out 0.1 u64 [0x1f00000000 32 496]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_atomic_int64 : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Data { int64_t x[]; };
layout(set = 0, binding = 1) buffer Unsigned { uint64_t u[]; };
shared uint64_t sum;

void main()
{
    int64_t i = int64_t(gl_LocalInvocationIndex);
    if (i == 0)
        sum = 0;
    barrier();
    atomicAdd(x[0], 10000000000l);
    atomicMin(x[1], -i);
    atomicMin(x[2], i);
    atomicMax(x[3], i);
    atomicMax(u[0], uint64_t(i) << 32);
    atomicAdd(u[1], 1ul);
    atomicAdd(u[1], uint64_t(i == 0 ? 1 : 0));
    atomicAdd(sum, uint64_t(i));
    barrier();
    if (i == 0)
        u[2] = sum;
}
