// f32 to bf16 keeps 8 bits, rounded to the nearest even; from other types it goes through f32.
//
// test run
// subgroup 4 32
// in 0.0 f32 [1 1.00390625 1.01171875 3.4e38 -inf nan 0.1 257]
// out 0.1 bf16 [1 1 1.015625 inf -inf nan 0x3dcd 256]
// out 0.2 f32 [1 1 1.015625 inf -inf nan 0.100097656 256]
// out 0.3 bf16 [1 1 1 inf 0 0 0 256]
// out 0.4 i32 [1 1 1 0 0 0 0 256]
#version 450
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer O1 { bfloat16_t b[]; };
layout(set = 0, binding = 2) buffer O2 { float back[]; };
layout(set = 0, binding = 3) buffer O3 { bfloat16_t from_int[]; };
layout(set = 0, binding = 4) buffer O4 { int to_int[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    b[i] = bfloat16_t(a[i]);
    back[i] = float(bfloat16_t(a[i]));
    bool small = abs(a[i]) < 1000.0;
    from_int[i] = bfloat16_t(small ? int(a[i]) : i == 3 ? 0 : 0);
    if (i == 3)
        from_int[i] = bfloat16_t(a[i]);
    to_int[i] = small ? int(bfloat16_t(a[i])) : 0;
}
