// Formats of all kinds, read and written without being named in the shader. What is written is what was read, so the
// bytes come back, or others that mean the same.
//
// test run
// subgroup 8
// define IMAGE KIND
// define NUMBER GLSL
//
// case unorm8: KIND=imageBuffer GLSL=vec4
// image 0.0 R8Unorm 2
// in 0.0 u8 [255 51]
// image 0.1 R8Unorm 2
// inout 0.1 u8 fill 2 0
// out 0.1 u8 [255 51]
// inout 0.2 f32 fill 8 9
// out 0.2 f32 [1 0 0 1  0.2 0 0 1]
//
// case snorm8: KIND=imageBuffer GLSL=vec4
// image 0.0 R8g8Snorm 2
// in 0.0 i8 [-128 -127  127 0]
// image 0.1 R8g8Snorm 2
// inout 0.1 i8 fill 4 0
// out 0.1 i8 [-127 -127  127 0]
// inout 0.2 f32 fill 8 9
// out 0.2 f32 [-1 -1 0 1  1 0 0 1]
//
// case bgra8: KIND=imageBuffer GLSL=vec4
// image 0.0 B8g8r8a8Unorm 2
// in 0.0 u8 [255 0 51 0  0 255 0 255]
// image 0.1 B8g8r8a8Unorm 2
// inout 0.1 u8 fill 8 0
// out 0.1 u8 [255 0 51 0  0 255 0 255]
// inout 0.2 f32 fill 8 9
// out 0.2 f32 [0.2 0 1 0  0 1 0 1]
//
// case sint8: KIND=iimageBuffer GLSL=ivec4
// image 0.0 R8g8b8a8Sint 2
// in 0.0 i8 [-128 -1 0 127  1 2 3 4]
// image 0.1 R8g8b8a8Sint 2
// inout 0.1 i8 fill 8 0
// out 0.1 i8 [-128 -1 0 127  1 2 3 4]
// inout 0.2 i32 fill 8 9
// out 0.2 i32 [-128 -1 0 127  1 2 3 4]
//
// case uint16: KIND=uimageBuffer GLSL=uvec4
// image 0.0 R16g16Uint 2
// in 0.0 u16 [65535 1  2 3]
// image 0.1 R16g16Uint 2
// inout 0.1 u16 fill 4 0
// out 0.1 u16 [65535 1  2 3]
// inout 0.2 u32 fill 8 9
// out 0.2 u32 [65535 1 0 1  2 3 0 1]
//
// case unorm16: KIND=imageBuffer GLSL=vec4
// image 0.0 R16Unorm 2
// in 0.0 u16 [65535 13107]
// image 0.1 R16Unorm 2
// inout 0.1 u16 fill 2 0
// out 0.1 u16 [65535 13107]
// inout 0.2 f32 fill 8 9
// out 0.2 f32 [1 0 0 1  0.2 0 0 1]
//
// case float16: KIND=imageBuffer GLSL=vec4
// image 0.0 R16g16b16a16Sfloat 2
// in 0.0 f16 [1 -2 65504 inf  0x0001 -0.0 0.5 3]
// image 0.1 R16g16b16a16Sfloat 2
// inout 0.1 f16 fill 8 0
// out 0.1 f16 [1 -2 65504 inf  0x0001 -0.0 0.5 3]
// inout 0.2 f32 fill 8 9
// out 0.2 f32 [1 -2 65504 inf  5.9604645e-8 -0.0 0.5 3]
//
// case float32: KIND=imageBuffer GLSL=vec4
// image 0.0 R32g32Sfloat 2
// in 0.0 f32 [1.25 nan  -3 1e-42]
// image 0.1 R32g32Sfloat 2
// inout 0.1 f32 fill 4 0
// out 0.1 f32 [1.25 nan  -3 1e-42]
// inout 0.2 f32 fill 8 9
// out 0.2 f32 [1.25 nan 0 1  -3 1e-42 0 1]
//
// case packed-uint: KIND=uimageBuffer GLSL=uvec4
// image 0.0 A2b10g10r10Uint 2
// in 0.0 u32 [0xffffffff 0x40100801]
// image 0.1 A2b10g10r10Uint 2
// inout 0.1 u32 fill 2 0
// out 0.1 u32 [0xffffffff 0x40100801]
// inout 0.2 u32 fill 8 9
// out 0.2 u32 [1023 1023 1023 3  1 2 1 1]
//
// case packed-unorm: KIND=imageBuffer GLSL=vec4
// image 0.0 A2r10g10b10Unorm 2
// in 0.0 u32 [0xc0000000 0x3ff00000]
// image 0.1 A2r10g10b10Unorm 2
// inout 0.1 u32 fill 2 0
// out 0.1 u32 [0xc0000000 0x3ff00000]
// inout 0.2 f32 fill 8 9
// out 0.2 f32 [0 0 0 1  1 0 0 0]
//
// case unsigned-floats: KIND=imageBuffer GLSL=vec4
// image 0.0 B10g11r11Ufloat 2
// in 0.0 u32 [0x781e03c0 0xffffffff]
// image 0.1 B10g11r11Ufloat 2
// inout 0.1 u32 fill 2 0
// out 0.1 u32 [0x781e03c0 ?]
// inout 0.2 f32 fill 8 9
// out 0.2 f32 [1 1 1 1  nan nan nan 1]
//
// case small-fractions: KIND=imageBuffer GLSL=vec4
// image 0.0 R5g6b5Unorm 2
// in 0.0 u16 [0xf800 0x07ff]
// image 0.1 R5g6b5Unorm 2
// inout 0.1 u16 fill 2 0
// out 0.1 u16 [0xf800 0x07ff]
// inout 0.2 f32 fill 8 9
// out 0.2 f32 [1 0 0 1  0 1 1 1]
#version 450
#extension GL_EXT_shader_image_load_formatted : require
layout(local_size_x = 2) in;
layout(set = 0, binding = 0) readonly uniform IMAGE from;
layout(set = 0, binding = 1) writeonly uniform IMAGE to;
layout(set = 0, binding = 2) buffer Numbers { NUMBER numbers[]; };

void main()
{
    int i = int(gl_LocalInvocationID.x);
    numbers[i] = imageLoad(from, i);
    imageStore(to, i, imageLoad(from, i));
}
