// Rows of four-bit weights with a scale for each 32 of them, decoded by the invocation that has the row, times columns
// that invocations convert: the seed's dequantisation in small. A block is cut into two parts by a place that only
// run time knows.
//
// test run
// subgroup 32 64
// in 0.0 f32 [0.5 1 2 0.25] f32 rand 124 9 0.25 2 0.25
// in 0.1 u32 rand 64*2*4 4 0 4294967295 1
// in 0.2 f32 rand 64*64 5 -2 2 0.5
// out 0.3 f32 gen 64 x 64 = sum(k, 64, $0.0[r * 2 + div(k, 32)] * $0.2[c * 64 + k]
//     * (and(shr($0.1[(r * 2 + div(k, 32)) * 4 + div(k % 16, 4)], k % 4 * 8 + div(k % 32, 16) * 4), 15) - 8))
#version 460
#include "qcom.glsl"

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Scales { float scale[]; };
layout(set = 0, binding = 1) readonly buffer Weights { uint quants[]; };
layout(set = 0, binding = 2) readonly buffer InB { float b[]; };
layout(set = 0, binding = 3) buffer Out { float y[]; };

#define TILE 32

void main()
{
    const uint row = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
    for (uint first_row = gl_SubgroupID * gl_SubgroupSize; first_row < (gl_SubgroupID + 1) * gl_SubgroupSize; first_row += TILE)
        for (uint first_col = 0; first_col < 64; first_col += TILE) {
            MATRIX(float, TILE, TILE, Accumulator) sum = MATRIX(float, TILE, TILE, Accumulator)(0);
            float16_t block[32];
            for (uint step = 0; step < 64; step += 16) {
                const uint line = gl_SubgroupInvocationID % TILE;
                if (step % 32 == 0) {
                    const uint index = (first_row + line) * 2 + step / 32;
                    for (uint i = 0; i < 4; ++i) {
                        const uint word = quants[index * 4 + i];
                        for (uint j = 0; j < 4; ++j) {
                            block[4 * i + j] = float16_t((float(word >> (8 * j) & 15) - 8) * scale[index]);
                            block[4 * i + j + 16] = float16_t((float(word >> (8 * j + 4) & 15) - 8) * scale[index]);
                        }
                    }
                }
                float16_t va[16];
                float16_t vb[16];
                extractSubArrayQCOM(block, step % 32, va);
                for (uint k = 0; k < 16; ++k)
                    vb[k] = float16_t(b[(first_col + line) * 64 + step + k]);
                MATRIX(float16_t, TILE, 16, A) ma;
                MATRIX(float16_t, 16, TILE, B) mb;
                vectorToCoopmatQCOM(va, ma);
                vectorToCoopmatQCOM(vb, mb);
                sum = coopMatMulAdd(ma, mb, sum);
            }
            coopMatStore(sum, y, first_row * 64 + first_col, 64, ROW_MAJOR);
        }
}
