// sinh and cosh are infinite where the exponentials are by which Vulkan defines them.
//
// test run
// subgroup 4 32
// in 0.0 f32 [89.4 -89.4 88.73 200 -inf 0]
// out 0.1 f32 [inf -inf inf inf -inf 0]
// out 0.2 f32 [inf inf inf inf inf 1]
#version 450
layout(local_size_x = 6) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer O1 { float s[]; };
layout(set = 0, binding = 2) buffer O2 { float c[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    s[i] = sinh(a[i]);
    c[i] = cosh(a[i]);
}
