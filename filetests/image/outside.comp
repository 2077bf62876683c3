// Outside of a texel buffer are zeros in the components that its format has, and 1 for an alpha that it lacks; where
// nothing is bound there are zeros alone.
//
// test run
// subgroup 4 32
// dispatch 1 1 1
// image 0.0[1] R32g32Uint 2
// in 0.0[1] u32 [1 2 3 4]
// image 0.1 R8g8b8a8Unorm 2
// in 0.1 u8 fill 8 255
// image 0.2 R16Sfloat 2
// in 0.2 f16 [5 6]
// inout 0.3 u32 fill 12 9
// out 0.3 u32 [3 4 0 1 0 0 0 1 0 0 0 0]
// inout 0.4 f32 fill 8 9
// out 0.4 f32 [0 0 0 0 0 0 0 1]
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) uniform usamplerBuffer pairs[2];
layout(set = 0, binding = 1) uniform samplerBuffer colours;
layout(set = 0, binding = 2) uniform samplerBuffer halves;
layout(set = 0, binding = 3) buffer Words { uvec4 words[3]; };
layout(set = 0, binding = 4) buffer Floats { vec4 floats[2]; };

void main()
{
    words[0] = texelFetch(pairs[1], 1);
    words[1] = texelFetch(pairs[1], 2);
    words[2] = texelFetch(pairs[0], 0);
    floats[0] = texelFetch(colours, -1);
    floats[1] = texelFetch(halves, 2);
}
