// Images as parameters, chosen by an index that differs between invocations, and used in branches and loops.
//
// test run
// subgroup 4 8 32
// dispatch 1 1 1
// image 0.0[0] R32Sfloat 4 1
// in 0.0[0] f32 [1 2 3 4]
// image 0.0[1] R16Sfloat 4 1
// in 0.0[1] f16 [10 20 30 40]
// image 0.0[2] R8Unorm 4 1
// in 0.0[2] u8 [255 0 255 0]
// image 0.1 R32Sfloat 2 1 1 1 8
// inout 0.1 f32 fill 16 0
// out 0.1 f32 [1 1  2 1  20 2  40 2  0 3  1 3  4 1  0 0]
#version 450
#extension GL_EXT_nonuniform_qualifier : require
#extension GL_EXT_shader_image_load_formatted : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly uniform image2D sources[3];
layout(set = 0, binding = 1, r32f) uniform image2DArray target;

float texel(readonly image2D image, int x)
{
    return imageLoad(image, ivec2(x, 0)).x;
}

void put(writeonly image2DArray image, int layer, vec2 value)
{
    for (int x = 0; x < 2; x++)
        if (value[x] != 0)
            imageStore(image, ivec3(x, 0, layer), vec4(value[x], 9, 9, 9));
}

void main()
{
    int i = int(gl_LocalInvocationID.x);
    int source = i == 7 ? 5 : i % 6 / 2;
    // Invocation 7 names an image that is not there.
    float a = texel(sources[nonuniformEXT(source)], i == 6 ? 3 : source == 0 ? i : source == 1 ? 2 * i - 3 : 5 - i);
    if (i < 6) {
        put(target, i, vec2(a, source + 1));
    } else {
        float sum = 0;
        for (int k = 0; k < i - 5; k++)
            sum += a;
        put(target, i, vec2(sum, 7 - i));
    }
}
