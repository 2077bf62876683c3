// Images and samplers as parameters, apart and combined, and arrays of them without a length, chosen by an index that
// differs between invocations.
//
// test run
// subgroup 4 8 32
// dispatch 1 1 1
// tolerance exact
// image 0.0[0] R32Sfloat 2 1
// in 0.0[0] f32 [0 1]
// image 0.0[1] R8Unorm 2 1
// in 0.0[1] u8 [0 255]
// image 0.0[2] R32Sfloat 2 1
// in 0.0[2] f32 [100 300]
// sampler 0.1[0] nearest clamp
// sampler 0.1[1] linear repeat
// image 0.2[0] R32Sfloat 1 1
// in 0.2[0] f32 [7]
// image 0.2[1] R32Sfloat 2 1
// in 0.2[1] f32 [10 20]
// sampler 0.2[1] linear
// image 0.2[2] R32Sfloat 2 1
// in 0.2[2] f32 [10 20]
// sampler 0.2[2] border border=5,5,5,5
//
// Even invocations take the nearest texel, the others filter 0 | 1, which is 1 at 0.75, and 100 | 300.
// inout 0.3 f32 fill 8 -1
// out 0.3 f32 [0 0.5 1 1 300 200 0 0]
// inout 0.4 f32 fill 8 -1
// out 0.4 f32 [7 15 20 7 20 5 7 20]
// inout 0.5 f32 fill 8 -1
// out 0.5 f32 [0 1 3 6 10 15 21 28]
#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) uniform texture2D images[];
layout(set = 0, binding = 1) uniform sampler samplers[2];
layout(set = 0, binding = 2) uniform sampler2D combined[];
layout(set = 0, binding = 3) buffer Apart { float apart[]; };
layout(set = 0, binding = 4) buffer Together { float together[]; };
layout(set = 0, binding = 5) buffer Sums { float sums[]; };

float one(texture2D image, sampler how, float x)
{
    return textureLod(sampler2D(image, how), vec2(x, 0.5), 0).x;
}

float two(sampler2D picture, float x)
{
    return textureLod(picture, vec2(x, 0.5), 0).x;
}

void main()
{
    int i = int(gl_LocalInvocationID.x);
    float places[] = { -1, 0, 0.5, 0.75, 0.75, 0, 0.5, 0.5 };
    // There is no image 3.
    apart[i] = one(images[nonuniformEXT(i / 2)], samplers[nonuniformEXT(i % 2)], places[i]);

    float centres[] = { 0, 0.5, 0.5, 0.75, 0.75, 1, 9, 0.75 };
    int which[] = { 0, 1, 2, 0, 1, 2, 0, 2 };
    together[i] = two(combined[nonuniformEXT(which[i])], centres[i]);

    // In a loop that the invocations leave one after the other.
    float sum = 0;
    for (int k = 0; k <= i; k++)
        sum += k * textureLod(sampler2D(images[k % 2], samplers[0]), vec2(1), 0).x;
    sums[i] = sum;
}
