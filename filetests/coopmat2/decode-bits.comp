// Functions that take some bits of a byte for each element of a factor which a loop loads and multiplies: a GPU may convert
// two neighbours at once. Nibbles whose halves of a block are in the same bytes, bytes with and without a sign, fields of two
// bits, words of two and four bytes, several numbers of a block, and what neighbours do not take alike: nibbles side by side,
// blocks at odd addresses, bytes the other way round, numbers that are too large or wrap, bits from two places, bytes that depend on others.
//
// test run
// define KIND WAY
// define OF_B TURNED
// keys WAY=0 TURNED=0 BYTES=16
// define BLOCK_BYTES BYTES
// in 0.0 u8 rand 24576 1 0 255 1
// in 0.1 f16 rand 8192 2 -2 3 1
// out 0.2 f32 4096 same
// case nibbles:
// case nibbles-of-columns: TURNED=1
// case nibbles-with-scale: BYTES=18 WAY=1
// case nibbles-of-words: BYTES=18 WAY=2
// case nibbles-of-long-words: WAY=3
// case nibbles-side-by-side: WAY=4
// case nibbles-at-odd-addresses: BYTES=17
// case signed: BYTES=34 WAY=5
// case signed-of-columns: BYTES=34 WAY=5 TURNED=1
// case signed-by-arithmetic: BYTES=34 WAY=6
// case unsigned: BYTES=34 WAY=7
// case large: BYTES=34 WAY=8
// case wrapping: BYTES=34 WAY=9
// case two-bits: BYTES=8 WAY=10
// case two-bits-side-by-side: BYTES=8 WAY=11
// case five-bits: BYTES=22 WAY=12
// case high-nibbles: WAY=13
// case reversed: BYTES=34 WAY=14
// case from-a-table: BYTES=48 WAY=15
// case one-of-two: BYTES=34 WAY=16
// case one-of-two-turned: BYTES=34 WAY=17
#version 460
#include "matrices2.glsl"

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer I0 { uint8_t weights[]; };
layout(set = 0, binding = 1) readonly buffer I1 { float16_t others[]; };
layout(set = 0, binding = 2) buffer O2 { float sums[]; };
#if BLOCK_BYTES % 2 == 0
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Block {
#if KIND == 1
    uint16_t scale;
    uint8_t x[16];
#elif KIND == 2
    float16_t scale;
    uint16_t x[8];
#elif KIND == 5 || KIND == 6
    float16_t scale;
    int8_t x[32];
#elif KIND == 16 || KIND == 17
    float16_t scale;
    int16_t x[16];
#elif KIND == 3
    uint32_t x[4];
#elif KIND == 12
    uint16_t high[2];
    uint8_t x[16];
#else
    uint8_t x[BLOCK_BYTES];
#endif
};
#else
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Block { uint8_t x[BLOCK_BYTES]; };
#endif

float16_t decode(const in Block b, const in uint32_t block[2], const in uint32_t at[2])
{
    const uint i = at[1];
#if KIND == 0
    return float16_t(int((uint(b.x[i % 16]) >> (i / 16 * 4)) & 15) - 8);
#elif KIND == 1
    // A scale with which sums stay exact.
    return float16_t(1 + uint(b.scale) % 2) * float16_t(int((uint(b.x[i % 16]) >> (i / 16 * 4)) & 15) - 8);
#elif KIND == 2
    const uint pair = (uint(b.x[i % 16 / 2]) >> ((i & 16) >> 2)) & 0x0f0f;
    return float16_t((pair >> (i % 2 * 8)) & 255) - float16_t(8);
#elif KIND == 3
    return float16_t((b.x[i % 16 / 4] >> (i % 4 * 8 + i / 16 * 4)) & 15);
#elif KIND == 4
    return float16_t(int((uint(b.x[i / 2]) >> (i % 2 * 4)) & 15) - 8);
#elif KIND == 5
    return float16_t(int(b.x[i]));
#elif KIND == 6
    return float16_t(int(b.x[i]) - 7);
#elif KIND == 7
    return float16_t(uint(b.x[i]) + 3);
#elif KIND == 8
    return float16_t(uint(b.x[i]) + 1025);
#elif KIND == 9
    return float16_t(int(int8_t(b.x[i] + uint8_t(100))));
#elif KIND == 10
    return float16_t(int((uint(b.x[i % 8]) >> (i / 8 * 2)) & 3) - 1);
#elif KIND == 11
    return float16_t(int((uint(b.x[i / 4]) >> (i % 4 * 2)) & 3) - 1);
#elif KIND == 12
    const uint high = (uint(b.high[i / 16]) >> (i % 16)) & 1;
    return float16_t(int(((uint(b.x[i % 16]) >> (i / 16 * 4)) & 15) | (high << 4)) - 16);
#elif KIND == 13
    return float16_t(int(uint(b.x[i % 16]) / 16) - int(i / 16));
#elif KIND == 14
    return float16_t(uint(b.x[31 - i]));
#elif KIND == 16
    return float16_t(int(unpack8(b.x[(i & 30) / 2])[i & 1]));
#elif KIND == 17
    return float16_t(int(unpack8(b.x[(i & 30) / 2])[1 - (i & 1)]));
#else
    return float16_t(uint(b.x[32 + uint(b.x[i]) % 16]));
#endif
}

#define ZEROS gl_CooperativeMatrixClampModeConstantNV
#define MAT(T, R, C, U) coopmat<T, gl_ScopeWorkgroup, R, C, gl_MatrixUse##U>

void main()
{
    const uint M = 64, N = 64, K = 128, STEP = 64;
    tensorLayoutNV<2, ZEROS> ofWeights = createTensorLayoutNV(2, ZEROS);
    ofWeights = setTensorLayoutBlockSizeNV(ofWeights, 1, 32);
    ofWeights = setTensorLayoutDimensionNV(ofWeights, M, K);
    const tensorLayoutNV<2, ZEROS> ofOthers = setTensorLayoutDimensionNV(createTensorLayoutNV(2, ZEROS), M, K);
    const tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
    MAT(float, M, N, Accumulator) sum = MAT(float, M, N, Accumulator)(0);
    for (uint k = 0; k < K; k += STEP) {
        MAT(float16_t, M, STEP, A) a;
        MAT(float16_t, STEP, N, B) b;
#if OF_B
        coopMatLoadTensorNV(a, others, 0, sliceTensorLayoutNV(ofOthers, 0, M, k, STEP));
        coopMatLoadTensorNV(b, weights, 0, sliceTensorLayoutNV(ofWeights, 0, N, k, STEP), turned, decode);
#else
        coopMatLoadTensorNV(a, weights, 0, sliceTensorLayoutNV(ofWeights, 0, M, k, STEP), decode);
        coopMatLoadTensorNV(b, others, 0, sliceTensorLayoutNV(ofOthers, 0, N, k, STEP), turned);
#endif
        sum = coopMatMulAdd(a, b, sum);
    }
    coopMatStore(sum, sums, 0, N, ROW_MAJOR);
}
