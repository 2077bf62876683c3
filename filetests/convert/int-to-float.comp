// Conversions to floats round to the nearest, ties to even.
//
// test run
// subgroup 4 32
// in 0.0 i32 [0 -1 16777217 16777219 2147483647 -2147483648 2049 65519]
// out 0.1 f32 [0 -1 16777216 16777220 2147483648 -2147483648 2049 65519]
// out 0.2 f32 [0 4294967296 16777216 16777220 2147483648 2147483648 2049 65519]
// out 0.3 f16 [0 -1 inf inf inf -inf 2048 65504]
// out 0.4 f64 [0 -1 16777217 16777219 2147483647 -2147483648 2049 65519]
// out 0.5 f32 [0 -1 1 3 -1 0 1 -17]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer In { int a[]; };
layout(set = 0, binding = 1) buffer O1 { float s[]; };
layout(set = 0, binding = 2) buffer O2 { float u[]; };
layout(set = 0, binding = 3) buffer O3 { float16_t h[]; };
layout(set = 0, binding = 4) buffer O4 { double d[]; };
layout(set = 0, binding = 5) buffer O5 { float from_byte[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    s[i] = float(a[i]);
    u[i] = float(uint(a[i]));
    h[i] = float16_t(a[i]);
    d[i] = double(a[i]);
    from_byte[i] = float(int8_t(a[i]));
}
