// Single components of vectors: swizzles as targets, dynamic reads and writes, in storage and in variables.
//
// test run
// subgroup 4 32
// inout 0.0 f32 ramp 16 1
// out 0.0 f32 [4 2 3 -1 6 5 7 -1 9 10 11 -1 13 14 15 -1]
// out 0.1 f32 [20 0 0 5 0 6 0 0 0 0 7 0 0 0 0 8]
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) buffer InOut { vec4 v[4]; };
layout(set = 0, binding = 1) buffer Out { vec4 x[4]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    if (i == 0)
        v[i].xw = v[i].wx;
    if (i == 1)
        v[i].xyz = v[i].yxz;
    v[i].w = -1.0;
    vec4 a = vec4(0.0);
    a[i] = 5.0 + float(i);
    if (i == 0) {
        a.wx = a.xy;
        a.x = 20.0;
    }
    x[i] = a;
}
