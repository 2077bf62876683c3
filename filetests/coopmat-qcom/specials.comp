// Infinities, zeros of both signs, denormals and the largest numbers keep their bits on the way into a matrix and out
// of it. Integers have their extremes.
//
// test run
// subgroup 8 32 128
// isa all
// define T GT
// define LEN K
//
// case f16: GT=float16_t K=16
// in 0.0 u32 [0x80000000 0x7c00fc00 0x00010001 0x83ff03ff 0x04008400 0x7bfffbff 0x3c00bc00 0xfc007c00
//     0x7c00fc00 0x00010001 0x83ff03ff 0x04008400 0x7bfffbff 0x3c00bc00 0xfc007c00 0x80000000
//     0x00010001 0x83ff03ff 0x04008400 0x7bfffbff 0x3c00bc00 0xfc007c00 0x80000000 0x7c00fc00
//     0x83ff03ff 0x04008400 0x7bfffbff 0x3c00bc00 0xfc007c00 0x80000000 0x7c00fc00 0x00010001
//     0x04008400 0x7bfffbff 0x3c00bc00 0xfc007c00 0x80000000 0x7c00fc00 0x00010001 0x83ff03ff
//     0x7bfffbff 0x3c00bc00 0xfc007c00 0x80000000 0x7c00fc00 0x00010001 0x83ff03ff 0x04008400
//     0x3c00bc00 0xfc007c00 0x80000000 0x7c00fc00 0x00010001 0x83ff03ff 0x04008400 0x7bfffbff
//     0xfc007c00 0x80000000 0x7c00fc00 0x00010001 0x83ff03ff 0x04008400 0x7bfffbff 0x3c00bc00]
// out 0.1 u32 gen 8*8 = $0.0[i]
// out 0.2 u32 gen 8*8 = $0.0[i]
// out 0.3 u32 gen 8*8 = $0.0[i]
// case f32: GT=float K=8
// in 0.0 u32 [0 0x80000000 0x7f800000 0xff800000 1 0x807fffff 0x7f7fffff 0x00800000
//     0x80000000 0x7f800000 0xff800000 1 0x807fffff 0x7f7fffff 0x00800000 0
//     0x7f800000 0xff800000 1 0x807fffff 0x7f7fffff 0x00800000 0 0x80000000
//     0xff800000 1 0x807fffff 0x7f7fffff 0x00800000 0 0x80000000 0x7f800000
//     1 0x807fffff 0x7f7fffff 0x00800000 0 0x80000000 0x7f800000 0xff800000
//     0x807fffff 0x7f7fffff 0x00800000 0 0x80000000 0x7f800000 0xff800000 1
//     0x7f7fffff 0x00800000 0 0x80000000 0x7f800000 0xff800000 1 0x807fffff
//     0x00800000 0 0x80000000 0x7f800000 0xff800000 1 0x807fffff 0x7f7fffff]
// out 0.1 u32 gen 8*8 = $0.0[i]
// out 0.2 u32 gen 8*8 = $0.0[i]
// out 0.3 u32 gen 8*8 = $0.0[i]
// case s8: GT=int8_t K=32
// in 0.0 u32 [0x80808080 0x7f7f7f7f 0 0xffffffff 0x00ff7f80 0x807fff00 0x01020304 0xfefdfcfb
//     0x7f7f7f7f 0 0xffffffff 0x00ff7f80 0x807fff00 0x01020304 0xfefdfcfb 0x80808080
//     0 0xffffffff 0x00ff7f80 0x807fff00 0x01020304 0xfefdfcfb 0x80808080 0x7f7f7f7f
//     0xffffffff 0x00ff7f80 0x807fff00 0x01020304 0xfefdfcfb 0x80808080 0x7f7f7f7f 0
//     0x00ff7f80 0x807fff00 0x01020304 0xfefdfcfb 0x80808080 0x7f7f7f7f 0 0xffffffff
//     0x807fff00 0x01020304 0xfefdfcfb 0x80808080 0x7f7f7f7f 0 0xffffffff 0x00ff7f80
//     0x01020304 0xfefdfcfb 0x80808080 0x7f7f7f7f 0 0xffffffff 0x00ff7f80 0x807fff00
//     0xfefdfcfb 0x80808080 0x7f7f7f7f 0 0xffffffff 0x00ff7f80 0x807fff00 0x01020304]
// out 0.1 u32 gen 8*8 = $0.0[i]
// out 0.2 u32 gen 8*8 = $0.0[i]
// out 0.3 u32 gen 8*8 = $0.0[i]
// case u8: GT=uint8_t K=32
// in 0.0 u32 [0x80808080 0x7f7f7f7f 0 0xffffffff 0x00ff7f80 0x807fff00 0x01020304 0xfefdfcfb
//     0x7f7f7f7f 0 0xffffffff 0x00ff7f80 0x807fff00 0x01020304 0xfefdfcfb 0x80808080
//     0 0xffffffff 0x00ff7f80 0x807fff00 0x01020304 0xfefdfcfb 0x80808080 0x7f7f7f7f
//     0xffffffff 0x00ff7f80 0x807fff00 0x01020304 0xfefdfcfb 0x80808080 0x7f7f7f7f 0
//     0x00ff7f80 0x807fff00 0x01020304 0xfefdfcfb 0x80808080 0x7f7f7f7f 0 0xffffffff
//     0x807fff00 0x01020304 0xfefdfcfb 0x80808080 0x7f7f7f7f 0 0xffffffff 0x00ff7f80
//     0x01020304 0xfefdfcfb 0x80808080 0x7f7f7f7f 0 0xffffffff 0x00ff7f80 0x807fff00
//     0xfefdfcfb 0x80808080 0x7f7f7f7f 0 0xffffffff 0x00ff7f80 0x807fff00 0x01020304]
// out 0.1 u32 gen 8*8 = $0.0[i]
// out 0.2 u32 gen 8*8 = $0.0[i]
// out 0.3 u32 gen 8*8 = $0.0[i]
#version 460
#include "qcom.glsl"

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer In { uint x[]; };
layout(set = 0, binding = 1) buffer OutA { uint a[]; };
layout(set = 0, binding = 2) buffer OutB { uint b[]; };
layout(set = 0, binding = 3) buffer OutC { uint c[]; };

void main()
{
    const uint lane = gl_SubgroupInvocationID;
    uint v[8];
    for (uint i = 0; i < 8; ++i)
        v[i] = x[lane % 8 * 8 + i];
    MATRIX(T, 8, LEN, A) ma;
    MATRIX(T, LEN, 8, B) mb;
    vectorToCoopmatQCOM(v, ma);
    vectorToCoopmatQCOM(v, mb);
    uint w[8];
    T t[LEN];
    MATRIX(T, 8, LEN, A) again;
    coopmatToVectorQCOM(ma, t);
    vectorToCoopmatQCOM(t, again);
    coopmatToVectorQCOM(ma, v);
    coopmatToVectorQCOM(mb, w);
    uint u[8];
    coopmatToVectorQCOM(again, u);
    if (lane < 8)
        for (uint i = 0; i < 8; ++i) {
            a[lane * 8 + i] = v[i];
            b[lane * 8 + i] = w[i];
            c[lane * 8 + i] = u[i];
        }
}
