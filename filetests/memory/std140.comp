// The std140 layout of a uniform buffer: elements of arrays and columns of matrices take 16 bytes.
//
// test run
// in 0.0 f32 [1] pad 12 f32 [2] pad 12 f32 [3] pad 12 f32 [4 5] pad 8 f32 [6 7] pad 8 f32 [8]
//     pad 12 f32 [9 10 11] pad 4
// out 0.1 f32 ramp 11 1
#version 450
layout(local_size_x = 1) in;
struct Inner { float s; vec3 v; };
layout(set = 0, binding = 0, std140) uniform In {
    float a[3];     // 0, 16, 32
    mat2 b;         // 48, columns of 16 bytes
    Inner c;        // 80: s, then v at 96
};
layout(set = 0, binding = 1) writeonly buffer Out { float x[]; };

void main()
{
    x[0] = a[0];
    x[1] = a[1];
    x[2] = a[2];
    x[3] = b[0].x;
    x[4] = b[0].y;
    x[5] = b[1].x;
    x[6] = b[1].y;
    x[7] = c.s;
    x[8] = c.v.x;
    x[9] = c.v.y;
    x[10] = c.v.z;
}
