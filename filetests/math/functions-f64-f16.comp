// Functions that GLSL.std.450 has for f16 and f64: square roots, rounding, minima; and the arithmetic of Fma.
//
// test run
// subgroup 4 32
// in 0.0 f16 rand 32 3 0.1 100
// tolerance 1 ulp
// out 0.1 f16 gen 32 = sqrt($0.0[i])
// tolerance exact
// out 0.2 f16 gen 32 = floor($0.0[i])
// tolerance 4e-3 abs 4e-3 rel
// out 0.3 f16 gen 32 = sin($0.0[i] / 32)
// in 0.4 f64 rand 32 4 0.1 100
// tolerance 2 ulp
// out 0.5 f64 gen 32 = sqrt($0.4[i])
// tolerance exact
// out 0.6 f64 gen 32 = ceil($0.4[i])
// out 0.7 f64 gen 32 = fma($0.4[i], $0.4[i], -$0.4[0])
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer I0 { float16_t a[]; };
layout(set = 0, binding = 1) buffer O1 { float16_t root[]; };
layout(set = 0, binding = 2) buffer O2 { float16_t low[]; };
layout(set = 0, binding = 3) buffer O3 { float16_t sine[]; };
layout(set = 0, binding = 4) readonly buffer I4 { double b[]; };
layout(set = 0, binding = 5) buffer O5 { double droot[]; };
layout(set = 0, binding = 6) buffer O6 { double high[]; };
layout(set = 0, binding = 7) buffer O7 { double both[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    root[i] = sqrt(a[i]);
    low[i] = floor(a[i]);
    sine[i] = sin(a[i] / 32.0hf);
    droot[i] = sqrt(b[i]);
    high[i] = ceil(b[i]);
    both[i] = fma(b[i], b[i], -b[0]);
}
