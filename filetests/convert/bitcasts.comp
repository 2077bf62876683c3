// The same bits in another type, between scalars and vectors of different widths: low components first.
//
// test run
// in 0.0 f32 [1 -2]
// out 0.1 u32 [0x3f800000 0xc0000000]
// out 0.2 f32 [1 -2]
// out 0.3 f64 [-2]
// out 0.4 u32 [0 0xc0000000]
// out 0.5 u16 [0 0x3f80]
// out 0.6 u8 [0 0 0x80 0x3f]
// out 0.7 u32 [0x40003c00]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer O1 { uint bits[]; };
layout(set = 0, binding = 2) buffer O2 { float back[]; };
layout(set = 0, binding = 3) buffer O3 { double d; };
layout(set = 0, binding = 4) buffer O4 { uvec2 halves; };
layout(set = 0, binding = 5) buffer O5 { u16vec2 shorts; };
layout(set = 0, binding = 6) buffer O6 { u8vec4 bytes; };
layout(set = 0, binding = 7) buffer O7 { uint packed; };

void main()
{
    bits[0] = floatBitsToUint(a[0]);
    bits[1] = uint(floatBitsToInt(a[1]));
    back[0] = uintBitsToFloat(bits[0]);
    back[1] = intBitsToFloat(int(bits[1]));
    d = packDouble2x32(uvec2(0, bits[1]));
    halves = unpackDouble2x32(-2.0lf);
    shorts = unpack16(bits[0]);
    bytes = unpack8(bits[0]);
    packed = packFloat2x16(f16vec2(1.0hf, 2.0hf));
}
