// Conversions of matrices at the ends: infinities and NaNs to the 8-bit floats, saturating and not, ties, denormals.
// The same bits as convert/float8.comp has for scalars.
//
// test run
// subgroup 4 32
// in 0.0 f32 [1 -1.0625 448 480 1e6 inf -inf nan 0.001953125 0.0009765625 17 19 57344 65536 -0.0 0.3]
// out 0.1 u8 [0x38 0xb8 0x7e 0x7f 0x7f 0x7f 0xff 0x7f 0x01 0x00 0x58 0x5a 0x7f 0x7f 0x80 0x2a]
// out 0.2 u8 [0x38 0xb8 0x7e 0x7e 0x7e 0x7e 0xfe 0x7f 0x01 0x00 0x58 0x5a 0x7e 0x7e 0x80 0x2a]
// out 0.3 u8 [0x3c 0xbc 0x5f 0x60 0x7c 0x7c 0xfc ? 0x18 0x14 0x4c 0x4d 0x7b 0x7c 0x80 0x35]
// out 0.4 u8 [0x3c 0xbc 0x5f 0x60 0x7b 0x7b 0xfb ? 0x18 0x14 0x4c 0x4d 0x7b 0x7b 0x80 0x35]
// out 0.5 f16 [1 -1.0625 448 480 inf inf -inf nan 0.001953125 0.0009765625 17 19 57344 inf -0.0 0.3]
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer O1 { floate4m3_t b[]; };
layout(set = 0, binding = 2) buffer O2 { floate4m3_t bs[]; };
layout(set = 0, binding = 3) buffer O3 { floate5m2_t c[]; };
layout(set = 0, binding = 4) buffer O4 { floate5m2_t cs[]; };
layout(set = 0, binding = 5) buffer O5 { float16_t h[]; };

void main()
{
    MATRIX(float, 4, 4, Accumulator) m;
    coopMatLoad(m, a, 0, 4, ROW_MAJOR);
    MATRIX(floate4m3_t, 4, 4, Accumulator) p = MATRIX(floate4m3_t, 4, 4, Accumulator)(m), ps;
    MATRIX(floate5m2_t, 4, 4, Accumulator) q = MATRIX(floate5m2_t, 4, 4, Accumulator)(m), qs;
    saturatedConvertEXT(ps, m);
    saturatedConvertEXT(qs, m);
    coopMatStore(p, b, 0, 4, ROW_MAJOR);
    coopMatStore(ps, bs, 0, 4, ROW_MAJOR);
    coopMatStore(q, c, 0, 4, ROW_MAJOR);
    coopMatStore(qs, cs, 0, 4, ROW_MAJOR);
    coopMatStore(MATRIX(float16_t, 4, 4, Accumulator)(m), h, 0, 4, ROW_MAJOR);
}
