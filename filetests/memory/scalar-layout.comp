// The scalar layout: everything is aligned to its components only.
//
// test run
// in 0.0 f32 [1] f32 [2 3 4] u8 [5] pad 1 i16 [-6] f32 [7 8 9 10 11 12] pad 4 i64 [13] u8 [14 15 16] u8 [17 18 19]
// out 0.1 f32 [1 2 3 4 5 -6 7 8 9 10 11 12 13 14 15 16 17 18 19]
#version 450
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, scalar) readonly buffer In {
    float a;            // 0
    vec3 b;             // 4
    uint8_t c;          // 16
    int16_t d;          // 18
    vec3 e[2];          // 20, 12 bytes each
    int64_t f;          // 48: 44 is not a multiple of 8
    u8vec3 g[2];        // 56, 3 bytes each
};
layout(set = 0, binding = 1) writeonly buffer Out { float x[]; };

void main()
{
    x[0] = a;
    x[1] = b.x;
    x[2] = b.y;
    x[3] = b.z;
    x[4] = float(c);
    x[5] = float(d);
    for (int i = 0; i < 6; ++i)
        x[6 + i] = e[i / 3][i % 3];
    x[12] = float(f);
    for (int i = 0; i < 6; ++i)
        x[13 + i] = float(uint(g[i / 3][i % 3]));
}
