// The layout of q4_0: 32 weights in 18 bytes, an f16 scale first; multiplied with another matrix, by a loop over K.
//
// test run
// subgroup 32
// in 0.0 f16 [1 0*8 2 0*8 0.5 0*8 -1 0*8]
// in 0.1 f16 fill 32*2*8 1
// out 0.2 f32 gen 2 x 8 = r == 0 ? -8 * 32 * 3 : -8 * 32 * -0.5
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Block { float16_t scale; uint8_t q[16]; };
layout(set = 0, binding = 0) readonly buffer I0 { float16_t weights[]; };
layout(set = 0, binding = 1) readonly buffer I1 { float16_t x[]; };
layout(set = 0, binding = 2) buffer O2 { float y[]; };

float16_t decode(const in Block b, const in uint32_t block[2], const in uint32_t at[2])
{
    const uint32_t i = at[1];
    const uint32_t q = (uint32_t(b.q[i % 16]) >> (4 * (i / 16))) & 15;
    return b.scale * float16_t(int(q) - 8);
}

void main()
{
    MATRIX(float, 2, 8, Accumulator) sum = MATRIX(float, 2, 8, Accumulator)(0.0);
    tensorLayoutNV<2> w = createTensorLayoutNV(2);
    w = setTensorLayoutBlockSizeNV(w, 1, 32);
    w = setTensorLayoutDimensionNV(w, 2, 64);
    tensorLayoutNV<2> v = createTensorLayoutNV(2);
    v = setTensorLayoutDimensionNV(v, 64, 8);
    for (uint k = 0; k < 64; k += 16) {
        MATRIX(float16_t, 2, 16, A) a = MATRIX(float16_t, 2, 16, A)(0.0);
        MATRIX(float16_t, 16, 8, B) b = MATRIX(float16_t, 16, 8, B)(0.0);
        coopMatLoadTensorNV(a, weights, 0, sliceTensorLayoutNV(w, 0, 2, k, 16), decode);
        coopMatLoadTensorNV(b, x, 0, sliceTensorLayoutNV(v, k, 16, 0, 8));
        sum = coopMatMulAdd(a, b, sum);
    }
    coopMatStore(sum, y, 0, 8, ROW_MAJOR);
}
