// Conversions from floats truncate; f16 has rounded 100.99 to 101 before. What does not fit is undefined and not tested.
//
// test run
// target interp passes cpu lowered
// subgroup 4 32
// in 0.0 f32 [1.9 -1.9 0.5 -0.5 100.99 127 -128 65]
// out 0.1 i32 [1 -1 0 0 100 127 -128 65]
// out 0.2 u32 [1 0 0 0 100 127 0 65]
// out 0.3 i8 [1 -1 0 0 100 127 -128 65]
// out 0.4 i16 [1 -1 0 0 101 127 -128 65]
// out 0.5 i64 [1 -1 0 0 100 127 -128 65]
// out 0.6 i32 [1 -1 0 0 100 127 -128 65]
// out 0.7 i32 [1 1 1 1 1 1 1 1]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer O1 { int i32[]; };
layout(set = 0, binding = 2) buffer O2 { uint u32[]; };
layout(set = 0, binding = 3) buffer O3 { int8_t i8[]; };
layout(set = 0, binding = 4) buffer O4 { int16_t i16[]; };
layout(set = 0, binding = 5) buffer O5 { int64_t i64[]; };
layout(set = 0, binding = 6) buffer O6 { int from_double[]; };
layout(set = 0, binding = 7) buffer O7 { int truth[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    i32[i] = int(a[i]);
    u32[i] = a[i] < 0.0 ? 0u : uint(a[i]);
    i8[i] = int8_t(a[i]);
    i16[i] = int16_t(float16_t(a[i]));
    i64[i] = int64_t(a[i]);
    from_double[i] = int(double(a[i]));
    truth[i] = int(bool(a[i]));
}
