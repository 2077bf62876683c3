// The pack and unpack functions, which round to the nearest.
//
// test run
// out 0.0 u32 [0x3c00c000 0x80017fff 0x0000ffff 0x7f0081c1 0xff008033]
// tolerance 1e-4 abs
// out 0.1 f32 [-2 1] f32 [1 -1] f32 [1 0] f32 [-0.496 -1 0 1] f32 [0.2 0.50196 0 1]
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Packed { uint p[5]; };
layout(set = 0, binding = 1) buffer Unpacked { float x[14]; };

void main()
{
    float one = 1.0;
    p[0] = packHalf2x16(vec2(-2.0, one));
    p[1] = packSnorm2x16(vec2(one * 2.0, -1.0));
    p[2] = packUnorm2x16(vec2(one, 0.0));
    p[3] = packSnorm4x8(vec4(-0.496, -one, 0.0, 1.0));
    p[4] = packUnorm4x8(vec4(0.2, 0.502, 0.0, one));
    vec2 a = unpackHalf2x16(p[0]), b = unpackSnorm2x16(p[1]), c = unpackUnorm2x16(p[2]);
    vec4 d = unpackSnorm4x8(p[3]), e = unpackUnorm4x8(p[4]);
    x[0] = a.x; x[1] = a.y; x[2] = b.x; x[3] = b.y; x[4] = c.x; x[5] = c.y;
    for (int i = 0; i < 4; ++i) {
        x[6 + i] = d[i];
        x[10 + i] = e[i];
    }
}
