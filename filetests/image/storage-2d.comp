// Loads and stores of images in their formats, and what lies outside: reads are zero, writes vanish.
//
// test run
// subgroup 4 8 32
// dispatch 2 1 1
// image 0.0 R8g8b8a8Unorm 4 2
// in 0.0 u8 [0 51 102 255  255 255 255 255  1 2 3 4  0 0 0 0
//            128 127 64 32  9 8 7 6  255 0 255 0  0 255 0 255]
// image 0.1 R32g32b32a32Sfloat 4 2
// inout 0.1 f32 fill 32 7
// tolerance exact
// out 0.1 f32 gen 8 x 4 = $0.0[r * 4 + c] / 255
// image 0.2 R32Uint 4 3
// inout 0.2 u32 fill 12 77
// out 0.2 u32 [100 101 102 103 110 111 112 113 77 77 77 77]
// inout 0.3 f32 fill 4 5
// out 0.3 f32 [0 0 0 0]
#version 450
layout(local_size_x = 4, local_size_y = 2) in;
layout(set = 0, binding = 0, rgba8) readonly uniform image2D from;
layout(set = 0, binding = 1, rgba32f) writeonly uniform image2D to;
layout(set = 0, binding = 2, r32ui) uniform uimage2D numbers;
layout(set = 0, binding = 3) buffer Outside { vec4 outside; };

void main()
{
    ivec2 at = ivec2(gl_LocalInvocationID.xy);
    // The second work-group writes beyond the right edge.
    imageStore(to, at + ivec2(4 * gl_WorkGroupID.x, 0), imageLoad(from, at));
    imageStore(to, ivec2(at.x, -1), vec4(3));
    imageStore(numbers, at, uvec4(100 + at.x + 10 * at.y, 1, 2, 3));
    if (gl_LocalInvocationIndex == 0 && gl_WorkGroupID.x == 0)
        outside = imageLoad(from, ivec2(0, 2)) + imageLoad(from, ivec2(-1, 0));
}
