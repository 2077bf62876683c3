// Atomic addition, minimum, maximum and exchange of floats; the sums are exact in any order.
//
// test run
// subgroup 4 32
// inout 0.0 f32 [0 1000 -1000 3]
// out 0.0 f32 [248 -15.5 31 ?]
// inout 0.1 f64 [0 1000 -1000]
// out 0.1 f64 [248 -15.5 31]
// inout 0.2 f32 [0]
// out 0.2 f32 [496]
#version 450
#extension GL_EXT_shader_atomic_float : require
#extension GL_EXT_shader_atomic_float2 : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Single { float x[]; };
layout(set = 0, binding = 1) buffer Double { double y[]; };
layout(set = 0, binding = 2) buffer Sum { float z; };
shared float total;

void main()
{
    int i = int(gl_LocalInvocationIndex);
    if (i == 0)
        total = 0.0;
    barrier();
    atomicAdd(x[0], float(i) * 0.5);
    atomicMin(x[1], float(-i) * 0.5);
    atomicMax(x[2], float(i));
    atomicExchange(x[3], float(i));
    atomicAdd(y[0], double(i) * 0.5lf);
    atomicMin(y[1], double(-i) * 0.5lf);
    atomicMax(y[2], double(i));
    atomicAdd(total, float(i));
    barrier();
    if (i == 31)
        z = total;
}
