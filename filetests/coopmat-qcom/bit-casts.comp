// Arrays of one size as arrays of another type: each pair of types, the bits kept, NaNs and denormals among them.
//
// test run
// subgroup 4 32
// in 0.0 u32 [0 0x80000000 0x7f800000 0xff800000 0x7fc00001 0x7f800001 1 0x807fffff 0x3f800000 0x7e017c01 0xfc00fe55
//     0x00018001 0x7bff03ff 0xffffffff 0x12345678 0x9abcdef0] u32 rand 31*16 1 0 4294967295 1
// out 0.1 u32 gen 32*16 = $0.0[i]
// out 0.2 u32 gen 32*16 = $0.0[i]
// out 0.3 u32 gen 32*16 = $0.0[i]
// out 0.4 u32 gen 32*16 = $0.0[i]
// out 0.5 f16 gen 2 = i == 0 ? 1 : -2
#version 460
#include "qcom.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { uint x[]; };
layout(set = 0, binding = 1) buffer OutA { uint a[]; };
layout(set = 0, binding = 2) buffer OutB { uint b[]; };
layout(set = 0, binding = 3) buffer OutC { uint c[]; };
layout(set = 0, binding = 4) buffer OutD { uint d[]; };
layout(set = 0, binding = 5) buffer OutE { float16_t e[]; };

void main()
{
    const uint id = gl_LocalInvocationIndex;
    uint u[16];
    for (uint i = 0; i < 16; ++i)
        u[i] = x[id * 16 + i];
    int s[16];
    float f[16];
    float16_t h[32];
    uint back[16];

    bitcastQCOM(u, s);
    bitcastQCOM(s, f);
    bitcastQCOM(f, h);
    bitcastQCOM(h, back);
    for (uint i = 0; i < 16; ++i)
        a[id * 16 + i] = back[i];

    bitcastQCOM(u, h);
    bitcastQCOM(h, f);
    bitcastQCOM(f, s);
    bitcastQCOM(s, back);
    for (uint i = 0; i < 16; ++i)
        b[id * 16 + i] = back[i];

    bitcastQCOM(u, f);
    bitcastQCOM(f, back);
    for (uint i = 0; i < 16; ++i)
        c[id * 16 + i] = back[i];

    bitcastQCOM(u, s);
    bitcastQCOM(s, h);
    bitcastQCOM(h, s);
    for (uint i = 0; i < 16; ++i)
        d[id * 16 + i] = uint(s[i]);

    uint pair[1];
    pair[0] = 0xc0003c00;
    float16_t halves[2];
    bitcastQCOM(pair, halves);
    e[0] = halves[0];
    e[1] = halves[1];
}
