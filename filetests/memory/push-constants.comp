// Push constants of many types, arrays and matrices, with static and dynamic offsets.
//
// test run
// push i32 [-7] f32 [1.5] f32 [1 2 3 4] i64 [-5000000000] u32 [9 8 7 6]
// out 0.0 f32 [-7 1.5 1 2 3 4 -5000000000 9 8 7 6]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 4) in;
layout(push_constant) uniform Push {
    int a;          // 0
    float b;        // 4
    mat2 c;         // 8, columns of 8 bytes in std430
    int64_t d;      // 24
    uint e[4];      // 32
};
layout(set = 0, binding = 0) writeonly buffer Out { float x[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    x[7 + i] = float(e[i]);
    if (i > 0)
        return;
    x[0] = float(a);
    x[1] = b;
    x[2] = c[0][0];
    x[3] = c[0][1];
    x[4] = c[1][0];
    x[5] = c[1][1];
    x[6] = float(d);
}
