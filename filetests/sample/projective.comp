// Projective coordinates, which are divided by their last component, and offsets in texels, which are not.
//
// test run
// subgroup 4
// dispatch 1 1 1
// tolerance exact
// image 0.0 R32Sfloat 4
// in 0.0 f32 [0 1 2 3]
// sampler 0.0 nearest
// image 0.1 R32Sfloat 4 4
// in 0.1 f32 ramp 16 0 1
// sampler 0.1 linear
// image 0.2 R32Sfloat 2 2 2
// in 0.2 f32 ramp 8 0 1
// sampler 0.2 nearest repeat
// image 0.3 D32Sfloat 4
// in 0.3 f32 [0 0.25 0.5 0.75]
// sampler 0.3 compare=greater
// image 0.4 R32Sfloat 2 1 1 1 2
// in 0.4 f32 [0 10  20 30]
// sampler 0.4 linear
// inout 0.5 f32 fill 20 -1
// out 0.5 f32 [2 2 3 1  7.5 7.5 7.5 5 10  3 7 4  1 0 1  10 25  2 6 1]
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) uniform sampler1D line;
layout(set = 0, binding = 1) uniform sampler2D plane;
layout(set = 0, binding = 2) uniform sampler3D cuboid;
layout(set = 0, binding = 3) uniform sampler1DShadow depth;
layout(set = 0, binding = 4) uniform sampler2DArray planes;
layout(set = 0, binding = 5) buffer Out { float result[]; };

void main()
{
    int at = 0;
    vec2 none = vec2(0);
    // 5 / 8 and 2.5 texels.
    result[at++] = textureProjLod(line, vec2(5, 8), 0).x;
    result[at++] = textureProjLod(line, vec4(5, 9, 9, 8), 0).x;
    result[at++] = textureProjLodOffset(line, vec2(5, 8), 0, 1).x;
    result[at++] = textureProjGradOffset(line, vec4(-5, 9, 9, -8), 0, 0, -1).x;

    // The middle, between 5, 6, 9 and 10.
    result[at++] = textureProjLod(plane, vec3(1, 1, 2), 0).x;
    result[at++] = textureProjLod(plane, vec4(-1, -1, 9, -2), 0).x;
    result[at++] = textureProjGrad(plane, vec3(1, 1, 2), none, none).x;
    result[at++] = textureProjGradOffset(plane, vec3(0.25, 0.75, 2), none, none, ivec2(1, 0)).x;
    result[at++] = textureProjLodOffset(plane, vec4(1.25, 1.25, 9, 2), 0, ivec2(0)).x;

    result[at++] = textureProjLod(cuboid, vec4(3, 3, 1, 4), 0).x;
    result[at++] = textureProjGrad(cuboid, vec4(3, 3, 3, 4), vec3(0), vec3(0)).x;
    result[at++] = textureProjLodOffset(cuboid, vec4(1, 1, 1, 4), 0, ivec3(2, 0, 1)).x;

    // The place and the reference: 0.5 > 0.25, 0.5 > 0.5, and with an offset 0.5 > 0.25 again.
    result[at++] = textureProjLod(depth, vec4(0.75, 9, 1, 2), 0);
    result[at++] = textureProjLod(depth, vec4(1.25, 9, 1, 2), 0);
    result[at++] = textureProjLodOffset(depth, vec4(1.25, 9, 1, 2), 0, -1);

    // Offsets without a division. The layer has none.
    result[at++] = textureLodOffset(planes, vec3(0.25, 0.5, 0), 0, ivec2(1, 3)).x;
    result[at++] = textureGradOffset(planes, vec3(0.5, 0.5, 1), none, none, ivec2(0, -1)).x;
    result[at++] = textureLodOffset(line, 0.125, 0, 2).x;
    result[at++] = textureLodOffset(plane, vec2(0.375), 0, ivec2(1, 0)).x;
    result[at++] = textureLodOffset(cuboid, vec3(0.25), 0, ivec3(-1, 2, -2)).x;
}
