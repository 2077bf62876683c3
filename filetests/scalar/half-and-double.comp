// f16 rounds to 11 bits and overflows at 65520; f64 keeps what f32 would lose.
//
// test run
// target interp passes cpu lowered
// subgroup 4 32
// in 0.0 f16 [1 2048 65504 0.1]
// in 0.1 f16 [0.0004885 1 16 0.2]
// out 0.2 f16 gen 4 = f16($0.0[i] + $0.1[i])
// out 0.3 f16 gen 4 = f16($0.0[i] * $0.1[i])
// in 0.4 f64 [1 1e300 16777217 0.1]
// in 0.5 f64 [1e-15 1e-300 2 0.2]
// out 0.6 f64 [1.000000000000001 1e300 16777219 0.30000000000000004]
// out 0.7 f64 [999999999999999.9 inf 8388608.5 0.5]
// out 0.8 f32 [1 inf 16777216 0.1]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) readonly buffer I0 { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { float16_t b[]; };
layout(set = 0, binding = 2) buffer O2 { float16_t add[]; };
layout(set = 0, binding = 3) buffer O3 { float16_t mul[]; };
layout(set = 0, binding = 4) readonly buffer I4 { double c[]; };
layout(set = 0, binding = 5) readonly buffer I5 { double d[]; };
layout(set = 0, binding = 6) buffer O6 { double dadd[]; };
layout(set = 0, binding = 7) buffer O7 { double ddiv[]; };
layout(set = 0, binding = 8) buffer O8 { float narrow[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    add[i] = a[i] + b[i];
    mul[i] = a[i] * b[i];
    dadd[i] = c[i] + d[i];
    ddiv[i] = c[i] / d[i];
    narrow[i] = float(c[i]);
}
