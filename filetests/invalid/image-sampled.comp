// Sampling is not built: only fetches of texels are.
//
// test translate
// error: ImageSampleExplicitLod is not supported
#version 450
layout(set = 0, binding = 0) uniform sampler2D picture;
layout(set = 0, binding = 2) buffer Out { vec4 result; };
void main()
{
    result = textureLod(picture, vec2(0.5), 0.0);
}
