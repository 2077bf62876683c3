// Samplers are not built.
//
// test translate
// error: sampler
#version 450
layout(set = 0, binding = 0) uniform texture2D picture;
layout(set = 0, binding = 1) uniform sampler linear;
layout(set = 0, binding = 2) buffer Out { vec4 result; };
void main()
{
    result = textureLod(sampler2D(picture, linear), vec2(0.5), 0.0);
}
