// Depth comparison: every function, each texel before the filter, in every dimension, and with what a format can hold.
//
// test run
// subgroup 4 8 32
// dispatch 1 1 1
// tolerance exact
// image 0.0 D32Sfloat 1 1
// in 0.0 f32 [0.5]
// sampler 0.1[0] compare=never
// sampler 0.1[1] compare=less
// sampler 0.1[2] compare=equal
// sampler 0.1[3] compare=less_or_equal
// sampler 0.1[4] compare=greater
// sampler 0.1[5] compare=not_equal
// sampler 0.1[6] compare=greater_or_equal
// sampler 0.1[7] compare=always
// inout 0.2 f32 fill 24 -1
// out 0.2 f32 [0 1 0 1 0 1 0 1
//              0 0 1 1 0 0 1 1
//              0 0 0 0 1 1 1 1]
// image 0.3 D32Sfloat 2 2
// in 0.3 f32 [0.25 0.75 0.75 0.75]
// sampler 0.3 linear compare=less
// image 0.4 D16Unorm 2
// in 0.4 u16 [65535 0]
// sampler 0.4 compare=less_or_equal
// image 0.5 R16Unorm 2 1 1 1 2
// in 0.5 u16 [0 65535  65535 65535]
// sampler 0.5 linear compare=less
// image 0.6 D32Sfloat 1 1 1 1 6
// in 0.6 f32 [0 1 0 1 0 1]
// sampler 0.6 compare=less
// image 0.7 D32Sfloat 1 1 1 1 12
// in 0.7 f32 [0 0 0 0 0 0  1 1 1 1 1 1]
// sampler 0.7 compare=greater
// inout 0.8 f32 fill 18 -1
// out 0.8 f32 [0 1 0.75 0.25 1  1 1 0 1  0.5 1 0.5  0 1  1 0  1 0.75]
#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 8, local_size_y = 3) in;
layout(set = 0, binding = 0) uniform texture2D middle;
layout(set = 0, binding = 1) uniform samplerShadow functions[8];
layout(set = 0, binding = 2) buffer Functions { float compared[]; };
layout(set = 0, binding = 3) uniform sampler2DShadow plane;
layout(set = 0, binding = 4) uniform sampler1DShadow line;
layout(set = 0, binding = 5) uniform sampler2DArrayShadow planes;
layout(set = 0, binding = 6) uniform samplerCubeShadow cube;
layout(set = 0, binding = 7) uniform samplerCubeArrayShadow cubes;
layout(set = 0, binding = 8) buffer Out { float result[]; };

void main()
{
    uint f = gl_LocalInvocationID.x;
    float reference = 0.25 + 0.25 * gl_LocalInvocationID.y;
    compared[gl_LocalInvocationIndex] =
        textureLod(sampler2DShadow(middle, functions[nonuniformEXT(f)]), vec3(0.5, 0.5, reference), 0);

    if (gl_LocalInvocationIndex == 0) {
        int at = 0;
        result[at++] = textureLod(plane, vec3(0.25, 0.25, 0.5), 0);
        result[at++] = textureLod(plane, vec3(0.75, 0.25, 0.5), 0);
        // Three texels of four.
        result[at++] = textureLod(plane, vec3(0.5, 0.5, 0.5), 0);
        result[at++] = textureLod(plane, vec3(0.375, 0.25, 0.5), 0);
        result[at++] = textureLod(plane, vec3(0.5, 0.5, 0), 0);

        // A format without larger numbers than 1 clamps the reference.
        result[at++] = textureLod(line, vec3(0.25, 9, 1), 0);
        result[at++] = textureLod(line, vec3(0.25, 9, 2), 0);
        result[at++] = textureLod(line, vec3(0.75, 9, 0.5), 0);
        result[at++] = textureLod(line, vec3(0.75, 9, -1), 0);

        result[at++] = textureGrad(planes, vec4(0.5, 0.5, 0, 0.5), vec2(0), vec2(0));
        result[at++] = textureGrad(planes, vec4(0.5, 0.5, 1, 0.5), vec2(0), vec2(0));
        result[at++] = texture(planes, vec4(0.5, 0.5, 0.5, 0.5));

        result[at++] = texture(cube, vec4(1, 0, 0, 0.5));
        result[at++] = textureGrad(cube, vec4(-1, 0, 0, 0.5), vec3(0), vec3(0));

        result[at++] = texture(cubes, vec4(1, 0, 0, 0), 0.5);
        result[at++] = texture(cubes, vec4(1, 0, 0, 1), 0.5);

        // Divided by 2: the same places, and a reference of 0.5.
        result[at++] = textureProjLod(plane, vec4(1.5, 0.5, 1, 2), 0);
        result[at++] = textureProjGrad(plane, vec4(1, 1, 1, 2), vec2(0), vec2(0));
    }
}
