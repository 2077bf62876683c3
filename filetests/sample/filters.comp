// Filters that take the least or the greatest of the texels with a weight, and coordinates that count texels.
//
// test run
// subgroup 4
// dispatch 1 1 1
// tolerance exact
// image 0.0 R32Sfloat 2 2
// in 0.0 f32 [1 4 3 2]
// sampler 0.1[0] linear reduce=min
// sampler 0.1[1] linear reduce=max
// sampler 0.1[2] linear border border=9,9,9,9 unnormalized
// sampler 0.1[3] clamp unnormalized
// inout 0.2 f32 fill 16 -1
// out 0.2 f32 [1 1 2 1   4 4 4 1   1 2.5 5 1   1 2 4 2]
// image 0.3 R8g8Unorm 2 1 1 2
// in 0.3 u8 [0 255 255 0  51 102]
// sampler 0.3 linear mip=linear reduce=max
// inout 0.4 f32 fill 4 -1
// tolerance 1e-6 abs
// out 0.4 f32 [1 1 1 0.4]
#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 4, local_size_y = 4) in;
layout(set = 0, binding = 0) uniform texture2D image;
layout(set = 0, binding = 1) uniform sampler filters[4];
layout(set = 0, binding = 2) buffer Out { float result[]; };
layout(set = 0, binding = 3) uniform sampler2D small;
layout(set = 0, binding = 4) buffer Levels { vec2 levels[2]; };

void main()
{
    uint i = gl_LocalInvocationID.x, f = gl_LocalInvocationID.y;
    // The middle of all; the left; the right texels; the first texel alone.
    vec2 normalized[] = { vec2(0.5, 0.5), vec2(0.5, 0.25), vec2(0.75, 0.5), vec2(0.25, 0.25) };
    // In texels: the first one; the middle; outside by half; the first one for both filters.
    vec2 counted[] = { vec2(0.5, 0.5), vec2(1, 1), vec2(0, 0.5), vec2(0.5, 0.5) };
    vec2 nearest[] = { vec2(0, 0), vec2(1, 1), vec2(1.5, 0.5), vec2(7, 7) };
    vec2 place = f < 2 ? normalized[i] : f == 2 ? counted[i] : nearest[i];
    result[f * 4 + i] = textureLod(sampler2D(image, filters[nonuniformEXT(f)]), place, 0).x;
    if (gl_LocalInvocationIndex == 0) {
        levels[0] = textureLod(small, vec2(0.5), 0).xy;
        levels[1] = textureLod(small, vec2(0.75, 0.5), 0.5).xy;
    }
}
