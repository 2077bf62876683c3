// Cubes: which face a direction meets, where, and how linear filters go on over the edges of faces.
//
// Texel (x, y) of face f has 10 f + 2 y + x. The faces are +x, -x, +y, -y, +z, -z.
//
// test run
// subgroup 4
// dispatch 1 1 1
// tolerance exact
// image 0.0 R32Sfloat 2 2 1 1 6
// in 0.0 f32 [0 1 2 3  10 11 12 13  20 21 22 23  30 31 32 33  40 41 42 43  50 51 52 53]
// sampler 0.0 nearest
// image 0.1 R32Sfloat 2 2 1 1 6
// in 0.1 f32 [0 1 2 3  10 11 12 13  20 21 22 23  30 31 32 33  40 41 42 43  50 51 52 53]
// sampler 0.1 linear repeat
// image 0.2 R32Sfloat 1 1 1 1 12
// in 0.2 f32 ramp 12 0 1
// sampler 0.2 linear
// inout 0.3 f32 fill 18 -1
// out 0.3 f32 [0 1 11 23 31 41 50 0  1.5 21.5 35.5 36.5 36.75 11.375  9 3 9 9]
// inout 0.4 f32 fill 1 -1
// tolerance 0.0001 abs
// out 0.4 f32 [21.333333]
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) uniform samplerCube nearest;
layout(set = 0, binding = 1) uniform samplerCube smoothly;
layout(set = 0, binding = 2) uniform samplerCubeArray cubes;
layout(set = 0, binding = 3) buffer Out { float result[]; };
layout(set = 0, binding = 4) buffer Corner { float corner; };

void main()
{
    int at = 0;
    vec3 inside[] = { vec3(1, 0.5, 0.5), vec3(1, 0.5, -0.5), vec3(-1, 0.5, 0.5), vec3(0.5, 1, 0.5),
                      vec3(0.5, -1, 0.5), vec3(0.5, 0.5, 1), vec3(0.5, 0.5, -1), vec3(8, 4, 4) };
    for (int i = 0; i < 8; i++)
        result[at++] = textureLod(nearest, inside[i], 0).x;

    // In the middle of a face.
    result[at++] = textureLod(smoothly, vec3(1, 0, 0), 0).x;
    // Between +z and +x: the columns 41, 43 and 0, 2.
    result[at++] = textureLod(smoothly, vec3(1, 0, 1), 0).x;
    // Between -z and +y: the rows 50, 51 and 20, 21.
    result[at++] = textureLod(smoothly, vec3(0, 1, -1), 0).x;
    // Between +z and -y: the rows 42, 43 and 30, 31; then with three quarters of the right texels.
    result[at++] = textureLod(smoothly, vec3(0, -1, 1), 0).x;
    result[at++] = textureLod(smoothly, vec3(0.25, -1, 1), 0).x;
    // Between +y and +x, a column and a row: three quarters of 23 and 0, a quarter of 21 and 1.
    result[at++] = textureLod(smoothly, vec3(1, 1, 0.25), 0).x;

    // The number of the cube is rounded and clamped.
    result[at++] = textureLod(cubes, vec4(0, -1, 0, 1), 0).x;
    result[at++] = textureLod(cubes, vec4(0, -1, 0, 0.5), 0).x;
    result[at++] = textureLod(cubes, vec4(0, -1, 0, 0.75), 0).x;
    result[at++] = textureLod(cubes, vec4(0, -1, 0, 7), 0).x;

    // Where three faces meet, the three texels there have the same weight: 41 of +z, 0 of +x, 23 of +y.
    corner = textureLod(smoothly, vec3(1, 1, 1), 0).x;
}
