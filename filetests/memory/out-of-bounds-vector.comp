// A vector access that is partly outside: each component by itself or all together, Vulkan leaves it open; what is
// certain is that nothing outside is read or written and that wholly inside is right.
//
// test run
// in 0.0 f32 [1 2 3 4 5 6]
// inout 0.1 f32 [0*6]
// out 0.1 f32 [1 2 3 4 ? ?]
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) readonly buffer In { vec4 a[]; };
layout(set = 0, binding = 1) buffer Out { vec4 x[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    x[i] = a[i];
}
