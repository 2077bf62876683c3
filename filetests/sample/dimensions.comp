// Images of all dimensions and their arrays, filtered linearly. Layers are rounded to the nearest, to the even one of
// two, and clamped to those that there are.
//
// test run
// subgroup 4
// dispatch 1 1 1
// tolerance exact
// image 0.0 R32Sfloat 2
// in 0.0 f32 [0 10]
// sampler 0.0 linear
// image 0.1 R32Sfloat 2 1 1 1 3
// in 0.1 f32 [0 10  100 110  200 210]
// sampler 0.1 linear
// image 0.2 R32Sfloat 2 2
// in 0.2 f32 [0 10 20 30]
// sampler 0.2 linear
// image 0.3 R32Sfloat 2 2 1 1 2
// in 0.3 f32 [0 10 20 30  100 110 120 130]
// sampler 0.3 linear
// image 0.4 R32Sfloat 2 2 2
// in 0.4 f32 [0 1 10 11  100 101 110 111]
// sampler 0.4 linear
// inout 0.5 f32 fill 20 -1
// out 0.5 f32 [0 5 2.5 10  5 205 205 5 205 105  15 20 2.5 30  115 15 105  55.5 50 26]
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) uniform sampler1D line;
layout(set = 0, binding = 1) uniform sampler1DArray lines;
layout(set = 0, binding = 2) uniform sampler2D plane;
layout(set = 0, binding = 3) uniform sampler2DArray planes;
layout(set = 0, binding = 4) uniform sampler3D cuboid;
layout(set = 0, binding = 5) buffer Out { float result[]; };

void main()
{
    int at = 0;
    result[at++] = textureLod(line, 0.25, 0).x;
    result[at++] = textureLod(line, 0.5, 0).x;
    result[at++] = textureLod(line, 0.375, 0).x;
    result[at++] = textureLod(line, 1, 0).x;

    float layers[] = { 0.5, 1.5, 2.5, -3, 9, 1.25 };
    for (int i = 0; i < layers.length(); i++)
        result[at++] = textureLod(lines, vec2(0.5, layers[i]), 0).x;

    // Without a level it is the first, where there are no derivatives.
    result[at++] = texture(plane, vec2(0.5)).x;
    result[at++] = textureLod(plane, vec2(0.25, 0.75), 0).x;
    result[at++] = textureLod(plane, vec2(0.375, 0.25), 0).x;
    result[at++] = textureLod(plane, vec2(1), 0).x;

    result[at++] = textureLod(planes, vec3(0.5, 0.5, 1), 0).x;
    result[at++] = textureLod(planes, vec3(0.5, 0.5, -1), 0).x;
    result[at++] = textureLod(planes, vec3(0.5, 0, 7), 0).x;

    result[at++] = textureLod(cuboid, vec3(0.5), 0).x;
    result[at++] = textureLod(cuboid, vec3(0.25, 0.25, 0.5), 0).x;
    result[at++] = textureLod(cuboid, vec3(0.75, 0.25, 0.375), 0).x;
}
