// Functions for elements that sample, through the image and the sampler of different bindings and through a combined
// one. Elements of matrices are places in an image of their size, and the neighbour's value is half a texel away.
//
// test run
// subgroup 4 32
// spec 0=R 1=C
// image 0.0 R32Sfloat C R
// in 0.0 f32 rand R*C 5 0 9 1
// sampler 0.1 nearest repeat
// image 0.2 R32Sfloat C R
// in 0.2 f32 gen R x C = 2 * c
// sampler 0.2 linear
// out 0.3 f32 gen R*C = $0.0[i] + 1
// out 0.4 f32 gen R x C = min(2 * c + 1, 2 * C - 2)
//
// case 16x16: R=16 C=16
// case 8x32: R=8 C=32
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(set = 0, binding = 0) uniform texture2D image;
layout(set = 0, binding = 1) uniform sampler how;
layout(set = 0, binding = 2) uniform sampler2D both;
layout(set = 0, binding = 3) buffer O3 { float apart[]; };
layout(set = 0, binding = 4) buffer O4 { float between[]; };
#define M coopmat<float, gl_ScopeSubgroup, ROWS, COLS, MATRIX_USE(Accumulator)>

float one(const in uint32_t row, const in uint32_t col, const in float x)
{
    return x + textureLod(sampler2D(image, how), (vec2(col, row) + 0.5) / vec2(COLS, ROWS), 0).x;
}

float two(const in uint32_t row, const in uint32_t col, const in float x)
{
    return textureLod(both, (vec2(col, row) + vec2(1, 0.5)) / vec2(COLS, ROWS), 0).x;
}

void main()
{
    M m = M(1), result;
    coopMatPerElementNV(result, m, one);
    coopMatStore(result, apart, 0, COLS, gl_CooperativeMatrixLayoutRowMajor);
    coopMatPerElementNV(result, m, two);
    coopMatStore(result, between, 0, COLS, gl_CooperativeMatrixLayoutRowMajor);
}
