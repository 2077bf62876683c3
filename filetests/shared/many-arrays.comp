// Several objects in shared memory of all widths do not overlap, and bounds hold: a write outside of its array
// vanishes or stays in the object, but does not touch another object.
//
// test run
// subgroup 4 32
// out 0.0 i32 gen 16 = i * 6 + 10
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer Out { int x[]; };
shared int8_t a[16];
shared int64_t b[16];
shared i16vec3 c[16];
shared bool d[16];
shared mat3 e[2];

void main()
{
    int i = int(gl_LocalInvocationIndex);
    a[i] = int8_t(i);
    b[i] = int64_t(i) * 2;
    c[i] = i16vec3(i, 1, i);
    d[i] = i % 2 == 0;
    if (i < 2)
        e[i] = mat3(9.0);
    barrier();
    int k = 15 - i;
    k = 15 - k;
    int sum = int(a[k]) + int(b[k]) + int(c[k].x) + int(c[k].z);
    sum += int(c[k].y) + i + (d[k] == (i % 2 == 0) ? 0 : 1000) + int(e[i % 2][1][1]);
    x[i] = sum;
}
