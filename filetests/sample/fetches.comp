// Fetches and queries of combined images, and of separate ones with and without a sampler: no sampler matters to them.
//
// test run
// subgroup 4
// dispatch 1 1 1
// image 0.0 R32Sfloat 4 2 1 2
// in 0.0 f32 [0 1 2 3 4 5 6 7  10 11]
// sampler 0.0 linear border bias=1
// image 0.1 R32Uint 2 2 1 1 3
// in 0.1 u32 ramp 12 0 1
// sampler 0.2 linear
// inout 0.3 f32 fill 6 -1
// out 0.3 f32 [6 11 0 7 2.5 10.5]
// inout 0.4 u32 fill 12 99
// out 0.4 u32 [9 10 4 2 2 1 2 2 2 3 1 1]
#version 450
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) uniform sampler2D both;
layout(set = 0, binding = 1) uniform utexture2DArray image;
layout(set = 0, binding = 2) uniform sampler alone;
layout(set = 0, binding = 3) buffer Out { float result[]; };
layout(set = 0, binding = 4) buffer Numbers { uint numbers[]; };

void main()
{
    result[0] = texelFetch(both, ivec2(2, 1), 0).x;
    result[1] = texelFetch(both, ivec2(1, 0), 1).x;
    result[2] = texelFetch(both, ivec2(4, 0), 0).x;
    result[3] = texelFetchOffset(both, ivec2(2, 0), 0, ivec2(1, 1)).x;
    // The bias and all else are for sampling: between 2 and 3 of level 0, between 10 and 11 of level 1.
    result[4] = textureLod(both, vec2(0.75, 0.25), -1).x;
    result[5] = textureLod(both, vec2(0.5), 0).x;

    numbers[0] = texelFetch(image, ivec3(1, 0, 2), 0).x;
    numbers[1] = texelFetch(usampler2DArray(image, alone), ivec3(0, 1, 2), 0).x;
    numbers[2] = textureSize(both, 0).x;
    numbers[3] = textureSize(both, 0).y;
    numbers[4] = textureSize(both, 1).x;
    numbers[5] = textureSize(both, 1).y;
    numbers[6] = textureQueryLevels(both);
    ivec3 size = textureSize(usampler2DArray(image, alone), 0);
    numbers[7] = size.x;
    numbers[8] = size.y;
    numbers[9] = size.z;
    numbers[10] = textureQueryLevels(image);
    numbers[11] = textureQueryLevels(usampler2DArray(image, alone));
}
