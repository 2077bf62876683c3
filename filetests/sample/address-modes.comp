// What lies outside of an image in each address mode, and which texels are nearest or on both sides of a place, at
// places on the edges of texels first. Image and samplers are apart; each invocation takes its own sampler.
//
// test run
// subgroup 4 8 32
// tolerance exact
// define N COUNT
// dispatch 1 1 1
// image 0.0 R32Sfloat 4
// in 0.0 f32 [10 20 30 40]
// sampler 0.1[0] FILTER repeat
// sampler 0.1[1] FILTER mirrored-repeat
// sampler 0.1[2] FILTER clamp
// sampler 0.1[3] FILTER border border=8,0,0,0
// sampler 0.1[4] FILTER mirror-clamp
//
// The texel with coordinate s is floor(4 s): here -8 -4 -3 -1 -1 0 1 1 2 3 4 5 7 8 14.
// case nearest: COUNT=15 FILTER=nearest
// in 0.2 f32 [-2 -1 -0.625 -0.25 -0.0625 0 0.25 0.375 0.5 0.75 1 1.25 1.9375 2 3.5]
// inout 0.3 f32 fill 75 -1
// out 0.3 f32 [10 10 20 40 40 10 20 20 30 40 10 20 40 10 30
//              10 40 30 10 10 10 20 20 30 40 40 30 10 10 20
//              10 10 10 10 10 10 20 20 30 40 40 40 40 40 40
//               8  8  8  8  8 10 20 20 30 40  8  8  8  8  8
//              40 40 30 10 10 10 20 20 30 40 40 40 40 40 40]
//
// The texels are floor(4 s - 0.5) and the next one; the weight of the latter is the fraction.
// Here -1+0 -1+1/2 0+0 0+1/2 0+3/4 3+0 3+1/2 4+0 3+3/4.
// case linear: COUNT=9 FILTER=linear
// in 0.2 f32 [-0.125 0 0.125 0.25 0.3125 0.875 1 1.125 1.0625]
// inout 0.3 f32 fill 45 -1
// out 0.3 f32 [40 25 10 15 17.5 40 25 10 17.5
//              10 10 10 15 17.5 40 40 40 40
//              10 10 10 15 17.5 40 40 40 40
//               8  9 10 15 17.5 40 24  8 16
//              10 10 10 15 17.5 40 40 40 40]
#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = N, local_size_y = 5) in;
layout(set = 0, binding = 0) uniform texture1D line;
layout(set = 0, binding = 1) uniform sampler modes[5];
layout(set = 0, binding = 2) readonly buffer Places { float places[]; };
layout(set = 0, binding = 3) buffer Out { float result[]; };

void main()
{
    uint i = gl_LocalInvocationID.x, mode = gl_LocalInvocationID.y;
    result[mode * N + i] = textureLod(sampler1D(line, modes[nonuniformEXT(mode)]), places[i], 0).x;
}
