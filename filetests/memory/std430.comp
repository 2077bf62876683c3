// The std430 layout: a vec3 takes 16 bytes of alignment and 12 of size, arrays are tight, a struct is
// rounded up to its largest alignment. Offsets follow OpenGL 4.6, section 7.6.2.2.
//
// test run
// in 0.0 f32 [1] pad 12 f32 [2 3 4 5] f32 [6 7 8] pad 4
//     i32 [20 21] pad 8 f32 [30 31 32] i32 [33] f32 [40 41 42] i32 [43] f32 [50 51 52 53]
// out 0.1 f32 [1 2 3 4 5 6 7 8 20 21 30 31 32 33 40 41 42 43 50 51 52 53]
#version 450
layout(local_size_x = 1) in;
struct Inner { vec3 v; int i; };
layout(set = 0, binding = 0, std430) readonly buffer In {
    float a;        // 0
    vec4 b;         // 16
    float c[3];     // 32
    ivec2 d;        // 48
    Inner e[2];     // 64, 16 bytes each
    mat2 f;         // 96, columns of 8 bytes
};
layout(set = 0, binding = 1) writeonly buffer Out { float x[]; };

void main()
{
    float r[22] = float[22](a, b.x, b.y, b.z, b.w, c[0], c[1], c[2], float(d.x), float(d.y),
        e[0].v.x, e[0].v.y, e[0].v.z, float(e[0].i), e[1].v.x, e[1].v.y, e[1].v.z, float(e[1].i),
        f[0][0], f[0][1], f[1][0], f[1][1]);
    for (int i = 0; i < 22; ++i)
        x[i] = r[i];
}
