// f32 to the 8-bit floats: E4M3 has no infinity and overflows to NaN, E5M2 overflows to infinity; saturating
// conversions clamp and keep NaN. The bits are those of SPV_EXT_float8: E4M3 1 = 0x38, greatest 448 = 0x7e;
// E5M2 1 = 0x3c, greatest 57344 = 0x7b.
//
// test run
// subgroup 4 32
// in 0.0 f32 [1 -1.0625 448 480 1e6 inf -inf nan 0.001953125 0.0009765625 17 19 57344 65536 -0.0 0.3]
// out 0.1 u8 [0x38 0xb8 0x7e 0x7f 0x7f 0x7f 0xff 0x7f 0x01 0x00 0x58 0x5a 0x7f 0x7f 0x80 0x2a]
// out 0.2 u8 [0x38 0xb8 0x7e 0x7e 0x7e 0x7e 0xfe 0x7f 0x01 0x00 0x58 0x5a 0x7e 0x7e 0x80 0x2a]
// out 0.3 u8 [0x3c 0xbc 0x5f 0x60 0x7c 0x7c 0xfc ? 0x18 0x14 0x4c 0x4d 0x7b 0x7c 0x80 0x35]
// out 0.4 u8 [0x3c 0xbc 0x5f 0x60 0x7b 0x7b 0xfb ? 0x18 0x14 0x4c 0x4d 0x7b 0x7b 0x80 0x35]
// out 0.5 f32 [1 -1 448 nan nan nan nan nan 0.001953125 0 16 20 nan nan -0.0 0.3125]
#version 450
#extension GL_EXT_float_e4m3 : require
#extension GL_EXT_float_e5m2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer O1 { floate4m3_t b[]; };
layout(set = 0, binding = 2) buffer O2 { floate4m3_t bs[]; };
layout(set = 0, binding = 3) buffer O3 { floate5m2_t c[]; };
layout(set = 0, binding = 4) buffer O4 { floate5m2_t cs[]; };
layout(set = 0, binding = 5) buffer O5 { float back[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    b[i] = floate4m3_t(a[i]);
    saturatedConvertEXT(bs[i], a[i]);
    c[i] = floate5m2_t(a[i]);
    saturatedConvertEXT(cs[i], a[i]);
    back[i] = float(b[i]);
}
