// Images of all dimensions and their arrays: coordinates, sizes and levels.
//
// test run
// subgroup 8
// dispatch 1 1 1
// image 0.0 R32Uint 4
// inout 0.0 u32 fill 4 0
// out 0.0 u32 [0 1 2 3]
// image 0.1 R32Uint 4 1 1 1 2
// inout 0.1 u32 fill 8 0
// out 0.1 u32 [0 1 2 3 10 11 12 13]
// image 0.2 R32Uint 2 2 1 1 3
// inout 0.2 u32 fill 12 0
// out 0.2 u32 [0 1 10 11  100 101 110 111  200 201 210 211]
// image 0.3 R32Uint 2 2 2
// inout 0.3 u32 fill 8 0
// out 0.3 u32 [0 1 10 11 100 101 110 111]
// image 0.4 R32Uint 1 1 1 1 12
// inout 0.4 u32 fill 12 0
// out 0.4 u32 ramp 12 0 1
// image 0.5 R32Uint 4 2 1 3 2
// in 0.5 u32 [0 1 2 3 4 5 6 7  10 11  20   30 31 32 33 34 35 36 37  40 41  50]
// inout 0.6 u32 fill 20 9
// out 0.6 u32 [4 2  3 7 11 20 34 41 50 0  2 1 2  3  4 4 2 2 2 3]
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, r32ui) uniform uimage1D line;
layout(set = 0, binding = 1, r32ui) uniform uimage1DArray lines;
layout(set = 0, binding = 2, r32ui) uniform uimage2DArray planes;
layout(set = 0, binding = 3, r32ui) uniform uimage3D cuboid;
layout(set = 0, binding = 4, r32ui) uniform uimageCubeArray cubes;
layout(set = 0, binding = 5) uniform usampler2DArray levels;
layout(set = 0, binding = 6) buffer Out { uint result[]; };

void main()
{
    for (int x = 0; x < 4; x++) {
        imageStore(line, x, uvec4(x));
        for (int y = 0; y < 2; y++)
            imageStore(lines, ivec2(x, y), uvec4(x + 10 * y));
    }
    for (int x = 0; x < 2; x++)
        for (int y = 0; y < 2; y++)
            for (int z = 0; z < 3; z++) {
                imageStore(planes, ivec3(x, y, z), uvec4(x + 10 * y + 100 * z));
                imageStore(cuboid, ivec3(x, y, z), uvec4(x + 10 * y + 100 * z));
            }
    for (int face = 0; face < 12; face++)
        imageStore(cubes, ivec3(0, 0, face), uvec4(face));

    int at = 0;
    result[at++] = imageLoad(cuboid, ivec3(0, 0, 1)).x / 25;
    result[at++] = imageLoad(cubes, ivec3(0, 0, 2)).x;
    ivec4 places[] = { ivec4(3, 0, 0, 0), ivec4(3, 1, 0, 0), ivec4(1, 0, 0, 1), ivec4(0, 0, 0, 2),
                       ivec4(0, 1, 1, 0), ivec4(1, 0, 1, 1), ivec4(0, 0, 1, 2), ivec4(1, 0, 1, 2) };
    for (int i = 0; i < 8; i++)
        result[at++] = texelFetch(levels, places[i].xyz, places[i].w).x;
    ivec3 size = textureSize(levels, 1);
    result[at++] = size.x;
    result[at++] = size.y;
    result[at++] = size.z;
    result[at++] = textureQueryLevels(levels);
    result[at++] = imageSize(line);
    result[at++] = imageSize(lines).x;
    result[at++] = imageSize(lines).y;
    result[at++] = imageSize(planes).y;
    result[at++] = imageSize(cuboid).z;
    result[at++] = imageSize(planes).z;
}
