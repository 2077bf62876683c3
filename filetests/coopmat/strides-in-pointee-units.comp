// Stride and offset count elements of the buffer, whatever its type, and components lie side by side in a row: here
// f16 matrices in buffers of 32-bit words, of vec4s, of bytes, and 8-bit ones in buffers of pairs of words.
//
// test run
// subgroup 4 32
// in 0.0 f16 ramp 256
// out 0.1 f16 gen 64 = $0.0[16 + div(i, 8) * 12 + i % 8]
// out 0.2 f16 gen 64 = $0.0[8 + div(i, 8) * 16 + i % 8]
// out 0.3 f16 gen 64 = $0.0[4 + i % 8 * 10 + div(i, 8)]
// in 0.4 u8 ramp 256
// out 0.5 u8 gen 64 = $0.4[8 + div(i, 8) * 24 + i % 8]
// inout 0.6 f16 fill 256 -1
// out 0.6 f16 gen 8 x 32 = c < 8 ? $0.0[16 + r * 12 + c] : -1
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer Words { uint words[]; };
layout(set = 0, binding = 0) readonly buffer Vectors { u32vec4 vectors[]; };
layout(set = 0, binding = 0) readonly buffer Bytes { uint8_t bytes[]; };
layout(set = 0, binding = 4) readonly buffer Longs { u32vec2 longs[]; };
layout(set = 0, binding = 1) buffer O1 { float16_t o1[]; };
layout(set = 0, binding = 2) buffer O2 { float16_t o2[]; };
layout(set = 0, binding = 3) buffer O3 { float16_t o3[]; };
layout(set = 0, binding = 5) buffer O5 { uint8_t o5[]; };
layout(set = 0, binding = 6) buffer O6 { f16vec4 o6[]; };

void main()
{
    MATRIX(float16_t, 8, 8, A) m;
    coopMatLoad(m, words, 8, 6, ROW_MAJOR);
    coopMatStore(m, o1, 0, 8, ROW_MAJOR);
    coopMatStore(m, o6, 0, 8, ROW_MAJOR);
    coopMatLoad(m, vectors, 1, 2, ROW_MAJOR);
    coopMatStore(m, o2, 0, 8, ROW_MAJOR);
    coopMatLoad(m, bytes, 8, 20, COL_MAJOR);
    coopMatStore(m, o3, 0, 8, ROW_MAJOR);
    MATRIX(uint8_t, 8, 8, B) k;
    coopMatLoad(k, longs, 1, 3, ROW_MAJOR);
    coopMatStore(k, o5, 0, 8, ROW_MAJOR);
}
