// Images of integers, in several formats, with levels and borders.
//
// test run
// subgroup 4 8
// dispatch 1 1 1
// image 0.0 R8g8b8a8Uint 2 2
// in 0.0 u8 [1 2 3 4  5 6 7 8  9 10 11 12  253 254 255 0]
// sampler 0.0 border border=i:7,8,9,10
// image 0.1 R16g16Sint 2 1 2
// in 0.1 i16 [-1 -2  3 4  -32768 32767  5 6]
// sampler 0.1 mirrored-repeat
// image 0.2 R32Uint 4 1 1 3
// in 0.2 u32 [1 2 3 4  12 34  4294967295]
// sampler 0.2 repeat
// inout 0.3 u32 fill 24 99
// out 0.3 u32 [1 2 3 4  253 254 255 0  7 8 9 10  9 10 11 12  7 8 9 10  5 6 7 8]
// inout 0.4 i32 fill 12 99
// out 0.4 i32 [-1 -2 0 1  -32768 32767 0 1  5 6 0 1]
// inout 0.5 u32 fill 5 99
// out 0.5 u32 [2 34 12 4294967295 4]
#version 450
layout(local_size_x = 6) in;
layout(set = 0, binding = 0) uniform usampler2D bytes;
layout(set = 0, binding = 1) uniform isampler3D words;
layout(set = 0, binding = 2) uniform usampler2D levels;
layout(set = 0, binding = 3) buffer Bytes { uvec4 byte[]; };
layout(set = 0, binding = 4) buffer Words { ivec4 word[]; };
layout(set = 0, binding = 5) buffer Levels { uint level[]; };

void main()
{
    int i = int(gl_LocalInvocationID.x);
    vec2 places[] = { vec2(0), vec2(0.5), vec2(1, 0.5), vec2(0.25, 0.75), vec2(-0.25, 0), vec2(0.75, 0.25) };
    byte[i] = textureLod(bytes, places[i], 0);
    if (i < 3)
        word[i] = textureLod(words, vec3(i == 2 ? 1.25 : 0.25, 0.5, i == 0 ? -0.25 : 1.25), 0);
    if (i == 0) {
        level[0] = textureLod(levels, vec2(1.25, 0), 0.25).x;
        level[1] = textureLod(levels, vec2(0.5, 0), 1).x;
        level[2] = textureGrad(levels, vec2(0), vec2(0.5, 0), vec2(0)).x;
        level[3] = textureLod(levels, vec2(0), 7).x;
        level[4] = textureLodOffset(levels, vec2(0), 0, ivec2(-1, 5)).x;
    }
}
