// Arrays of descriptors: constant, uniform and non-uniform indices, in storage and in uniform buffers.
//
// test run
// subgroup 4 8
// in 0.0[0] i32 [100 101]
// in 0.0[1] i32 [200 201]
// in 0.0[2] i32 [300 301]
// in 0.1[0] i32 [7] pad 12
// in 0.1[1] i32 [8] pad 12
// inout 1.0[0] i32 [0*8]
// out 1.0[0] i32 [0 0 0 3 0 0 6 0]
// inout 1.0[1] i32 [0*8]
// out 1.0[1] i32 [0 1 0 0 4 0 0 7]
// inout 1.0[3] i32 [0*8]
// out 1.0[3] i32 [0 0 2 0 0 5 0 0]
// out 0.2 i32 [100 201 300 101 200 301 100 201] i32 [7 8 7 8 7 8 7 8] i32 [2 2 2 2 2 2 2 2]
#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer Fixed { int v[]; } fixed_[3];
layout(set = 0, binding = 1) uniform Uniform { int u; } uniforms[2];
layout(set = 1, binding = 0) buffer Runtime { int w[]; } runtime[];
layout(set = 0, binding = 2) writeonly buffer Out { int x[8]; int y[8]; int z[8]; };

void main()
{
    int i = int(gl_LocalInvocationIndex);
    x[i] = fixed_[nonuniformEXT(i % 3)].v[i & 1];
    y[i] = uniforms[nonuniformEXT(i & 1)].u;
    z[i] = fixed_[2].v.length();
    int which = i % 3 == 2 ? 3 : i % 3;
    if (i > 0)
        runtime[nonuniformEXT(which)].w[i] = i;
}
