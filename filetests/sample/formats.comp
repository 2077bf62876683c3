// Formats are decoded before the filter: the middle between two texels, in the colours that a format has.
//
// test run
// subgroup 4
// define SAMPLER KIND
// tolerance 1e-6 abs
// inout 0.1 f32 fill 4 -1
//
// case unorm8: KIND=sampler2D
// image 0.0 R8g8b8a8Unorm 2
// in 0.0 u8 [0 255 51 102  255 255 102 0]
// sampler 0.0 linear
// out 0.1 f32 [0.5 1 0.3 0.2]
//
// The least number means -1, too.
// case snorm8: KIND=sampler1D
// image 0.0 R8g8Snorm 2
// in 0.0 i8 [-128 127  -127 0]
// sampler 0.0 linear
// out 0.1 f32 [-1 0.5 0 1]
//
// 0 and 1 are what they are, the alpha is linear.
// case srgb: KIND=sampler2D
// image 0.0 B8g8r8a8Srgb 2
// in 0.0 u8 [255 0 0 0  0 255 0 255]
// sampler 0.0 linear
// out 0.1 f32 [0 0.5 0.5 0.5]
//
// 188 means ((188 / 255 + 0.055) / 1.055) ^ 2.4.
// case srgb-curve: KIND=sampler2D
// image 0.0 R8g8b8a8Srgb 2
// in 0.0 u8 [188 188 188 188  0 0 0 0]
// sampler 0.0 linear
// out 0.1 f32 [0.25144323 0.25144323 0.25144323 0.36862746]
//
// case float16: KIND=sampler2DArray
// image 0.0 R16g16Sfloat 2
// in 0.0 f16 [-1 65504  3 65504]
// sampler 0.0 linear
// out 0.1 f32 [1 65504 0 1]
//
// 1, 2 and 0.5 with 6, 6 and 5 bits behind the point, and zeros.
// case unsigned-floats: KIND=sampler2D
// image 0.0 B10g11r11Ufloat 2
// in 0.0 u32 [0x702003c0 0]
// sampler 0.0 linear
// out 0.1 f32 [0.5 1 0.25 1]
//
// The exponent 15 + 9 makes the mantissas 1, 2 and 3.
// case shared-exponent: KIND=sampler2D
// image 0.0 E5b9g9r9Ufloat 2
// in 0.0 u32 [0xc00c0401 0]
// sampler 0.0 linear
// out 0.1 f32 [0.5 1 1.5 1]
//
// case depth16: KIND=sampler2D
// image 0.0 D16Unorm 2
// in 0.0 u16 [65535 0]
// sampler 0.0 linear
// out 0.1 f32 [0.5 0 0 1]
//
// case packed: KIND=sampler2D
// image 0.0 A2b10g10r10Unorm 2
// in 0.0 u32 [0xc00ffc00 0x000003ff]
// sampler 0.0 linear
// out 0.1 f32 [0.5 0.5 0 0.5]
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) uniform SAMPLER image;
layout(set = 0, binding = 1) buffer Out { vec4 result; };

vec4 middle(sampler1D image) { return textureLod(image, 0.5, 0); }
vec4 middle(sampler2D image) { return textureLod(image, vec2(0.5), 0); }
vec4 middle(sampler2DArray image) { return textureLod(image, vec3(0.5, 0.5, 0), 0); }

void main()
{
    result = middle(image);
}
