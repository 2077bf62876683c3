// 8-, 16- and 64-bit numbers in storage, as scalars and vectors; neighbours stay as they are.
//
// test run
// subgroup 4 32
// in 0.0 i8 [-128 -1 0 127] u16 [0 1 65535 32768] pad 4 i16 [-5 -6 -7 -8] i64 [-1 9000000000] f64 [0.1 -2.5]
// inout 0.1 u8 fill 48 0x55
// out 0.1 u8 [0x80 0x55 0xff 0x55 0x00 0x55 0x7f 0x55] u16 [1 2 0 32769] i16 [-8 -7 -6 -5] u8 [0x55*8]
//     i64 [9000000000] f64 [-25]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 4) in;
layout(set = 0, binding = 0, std430) readonly buffer In {
    int8_t a[4];
    uint16_t b[4];
    i16vec4 c;
    int64_t d[2];
    double e[2];
};
layout(set = 0, binding = 1, std430) buffer Out {
    int8_t p[8];
    uint16_t q[4];
    i16vec4 r;
    int8_t gap[8];
    int64_t s;
    double t;
};

void main()
{
    uint i = gl_LocalInvocationID.x;
    p[2 * i] = a[i];
    q[i] = b[i] + 1us;
    r[3 - i] = c[i];
    if (i == 1) {
        s = d[1];
        t = e[1] * 10.0lf;
    }
}
