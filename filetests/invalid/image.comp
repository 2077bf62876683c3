// A storage image: valid, but not built.
//
// test translate
// error: unsupported
#version 450
layout(set = 0, binding = 0, rgba8) uniform image2D picture;
void main()
{
    imageStore(picture, ivec2(0), vec4(1.0));
}
