// Gathers: a component of the four texels of the footprint, whatever the filter, with offsets for all or for each.
//
// test run
// subgroup 4 8
// dispatch 1 1 1
// tolerance exact
// image 0.0 R32g32b32a32Sfloat 2 2
// in 0.0 f32 [0 1 2 3  10 11 12 13  20 21 22 23  30 31 32 33]
// sampler 0.0 nearest
// image 0.1 R32Sfloat 4 4
// in 0.1 f32 ramp 16 0 1
// sampler 0.1 linear
// image 0.2 R32Uint 2 2 1 1 2
// in 0.2 u32 [0 1 2 3  4 5 6 7]
// sampler 0.2 repeat
// image 0.3 D32Sfloat 2 2
// in 0.3 f32 [0 0.25 0.5 0.75]
// sampler 0.3 compare=less
// image 0.4 R32Sfloat 2 2 1 1 6
// in 0.4 f32 ramp 24 0 1
// sampler 0.4 linear
// inout 0.5 f32 fill 68 -1
// out 0.5 f32 [20 30 10 0  21 31 11 1  22 32 12 2  23 33 13 3
//              9 10 6 5  6 7 3 2  0 0 0 0  0 6 13 15  4 4 0 0  15 15 15 15
//              1 1 0 0  0 0 0 0  0 1 0 0  0 1 1 1
//              2 3 1 0  14 15 13 12  6 7 5 4]
// inout 0.6 u32 fill 16 9
// out 0.6 u32 [2 3 1 0  6 7 5 4  2 3 1 0  3 2 0 1]
// inout 0.7 f32 fill 16 -1
// out 0.7 f32 [8 9 5 4  9 10 6 5  10 11 7 6  11 11 7 7]
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) uniform sampler2D four;
layout(set = 0, binding = 1) uniform sampler2D ramp;
layout(set = 0, binding = 2) uniform usampler2DArray numbers;
layout(set = 0, binding = 3) uniform sampler2DShadow depth;
layout(set = 0, binding = 4) uniform samplerCube cube;
layout(set = 0, binding = 5) buffer Out { vec4 result[]; };
layout(set = 0, binding = 6) buffer Numbers { uvec4 integers[]; };
layout(set = 0, binding = 7) buffer Moved { vec4 moved[]; };

void main()
{
    int i = int(gl_LocalInvocationID.x);
    // The footprint is of rows 1 and 2, and of columns 1 and 2, moved by -1 to 2.
    moved[i] = textureGatherOffset(ramp, vec2(0.5), ivec2(i - 1, 0));
    if (i != 0)
        return;

    vec2 middle = vec2(0.5);
    int at = 0;
    result[at++] = textureGather(four, middle, 0);
    result[at++] = textureGather(four, middle, 1);
    result[at++] = textureGather(four, middle, 2);
    result[at++] = textureGather(four, middle, 3);

    result[at++] = textureGather(ramp, middle);
    result[at++] = textureGatherOffset(ramp, middle, ivec2(1, -1));
    // A component that the format has not.
    result[at++] = textureGather(ramp, middle, 2);
    // Of each footprint its first texel.
    const ivec2 places[] = { ivec2(-1, -1), ivec2(1, 0), ivec2(0, 2), ivec2(2, 2) };
    result[at++] = textureGatherOffsets(ramp, middle, places);
    // At the edge and beyond: (-1, 0) and (0, 1) clamped.
    result[at++] = textureGather(ramp, vec2(0, 0.25));
    result[at++] = textureGatherOffset(ramp, vec2(1), ivec2(7, 7));

    result[at++] = textureGather(depth, middle, 0.25);
    result[at++] = textureGather(depth, middle, 0.75);
    result[at++] = textureGatherOffset(depth, middle, 0.5, ivec2(0));
    result[at++] = textureGatherOffsets(depth, middle, 0.125, places);

    // Faces +x, -y and -x.
    result[at++] = textureGather(cube, vec3(1, 0, 0));
    result[at++] = textureGather(cube, vec3(0, -1, 0));
    result[at++] = textureGather(cube, vec3(-1, 0, 0));

    integers[0] = textureGather(numbers, vec3(0.5, 0.5, 0));
    integers[1] = textureGather(numbers, vec3(0.5, 0.5, 1));
    integers[2] = textureGather(numbers, vec3(0.5, 0.5, 0.5));
    integers[3] = textureGather(numbers, vec3(0, 0.5, 0));
}
