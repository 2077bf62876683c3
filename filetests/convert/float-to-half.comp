// f32 to f16: ties to even, overflow, denormals, NaN; and back, which is exact.
//
// test run
// subgroup 4 32
// in 0.0 f32 [2049 2051 65519 65520 6e-8 2.9e-8 nan -0.0]
// out 0.1 f16 [2048 2052 65504 inf 0x0001 0 nan -0.0]
// out 0.2 f32 [2048 2052 65504 inf 5.9604645e-8 0 nan -0.0]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer O1 { float16_t h[]; };
layout(set = 0, binding = 2) buffer O2 { float back[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    h[i] = float16_t(a[i]);
    back[i] = float(float16_t(a[i]));
}
