// Texel buffers of both kinds, in arrays that are indexed dynamically, and their sizes.
//
// test run
// subgroup 4 32
// dispatch 1 1 1
// image 0.0 R16Sfloat 8
// in 0.0 f16 [0 1 -2 0.5 65504 -0.25 inf 3]
// image 0.1 R8Sint 8
// in 0.1 i8 [0 -1 127 -128 5 6 7 8]
// image 0.2[1] R32Sint 9
// inout 0.2[1] i32 fill 9 1000
// out 0.2[1] i32 [0 -1 127 -128 5 6 7 8 1000]
// image 0.2[2] R16Uint 10
// inout 0.2[2] u16 fill 10 1000
// out 0.2[2] u16 [1 0 128 65409 6 7 8 9 1000 1000]
// inout 0.3 f32 fill 8 9
// out 0.3 f32 [0 1 -2 0.5 65504 -0.25 inf 0]
// inout 0.4 i32 fill 5 9
// out 0.4 i32 [8 8 9 10 0]
#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) uniform samplerBuffer halves;
layout(set = 0, binding = 1) uniform isamplerBuffer bytes;
layout(set = 0, binding = 2, r32i) uniform iimageBuffer wide[4];
layout(set = 0, binding = 3) buffer Floats { float floats[]; };
layout(set = 0, binding = 4) buffer Sizes { int sizes[]; };

void main()
{
    int i = int(gl_LocalInvocationID.x);
    // The last invocation reads outside.
    floats[i] = texelFetch(halves, i == 7 ? 8 : i).x;
    ivec4 texel = texelFetch(bytes, i);
    for (int k = 1; k < 3; k++) {
        // Nothing is bound at index 0.
        imageStore(wide[k == 1 ? 0 : k], i, texel + (k == 1 ? 0 : 1));
        imageStore(wide[nonuniformEXT(1 + (i & 0))], i, texel);
    }
    if (i == 0) {
        sizes[0] = textureSize(halves);
        sizes[1] = textureSize(bytes);
        sizes[2] = imageSize(wide[1]);
        sizes[3] = imageSize(wide[2]);
        sizes[4] = imageSize(wide[3]);
    }
}
