// A second function that decodes four elements at once, which an implementation may call or not.
//
// test run
// subgroup 4 32
// in 0.0 u8 rand 1024 3 0 255 1
// out 0.1 f16 gen 8 x 16 = $0.0[(r+1)*16+div(c,2)+2]*(c%2+1)
#version 460
#include "matrices2.glsl"
#extension GL_NV_cooperative_matrix_decode_vector : require

layout(local_size_x = 32) in;
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Block { uint8_t x[2]; };
layout(set = 0, binding = 0) readonly buffer I0 { uint8_t a[]; };
layout(set = 0, binding = 1) buffer O1 { float16_t b[]; };

float16_t decode(const in Block b, const in uint32_t block[2], const in uint32_t at[2])
{
    return float16_t(float(b.x[at[1] / 2])) * float16_t(float(at[1] % 2 + 1));
}

f16vec4 decode4(const in Block b, const in uint32_t block[2], const in uint32_t at[2])
{
    const float x = float(b.x[at[1] / 2]), y = float(b.x[at[1] / 2 + 1]);
    return f16vec4(x, 2 * x, y, 2 * y);
}

void main()
{
    MATRIX(float16_t, 8, 16, B) m = MATRIX(float16_t, 8, 16, B)(0);
    tensorLayoutNV<2> t = createTensorLayoutNV(2);
    t = setTensorLayoutBlockSizeNV(t, 1, 4);
    t = setTensorLayoutDimensionNV(t, 16, 32);
    coopMatLoadTensorNV(m, a, 0, sliceTensorLayoutNV(t, 1, 8, 4, 16), decode, decode4);
    coopMatStore(m, b, 0, 16, ROW_MAJOR);
}
