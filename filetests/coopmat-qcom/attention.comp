// Two products with a softmax in between that each invocation does on a row of its own: the seed's flash attention in
// small. The rows are cut into parts for the second product.
//
// test run
// subgroup S
// define LANES S
// in 0.0 f32 rand S*16 1 -2 2 0.25
// in 0.1 f32 rand S*16 2 -2 2 0.25
// in 0.2 f32 rand S*16 3 -2 2 0.25
// tolerance 2e-6 abs
// out 0.3 f32 gen S x 16 = sum(n, S, exp(sum(k, 16, $0.0[r * 16 + k] * $0.1[n * 16 + k]) / 16)
//     * $0.2[n * 16 + c]) / sum(n, S, exp(sum(k, 16, $0.0[r * 16 + k] * $0.1[n * 16 + k]) / 16))
//
// case 32: S=32
// case 64: S=64
#version 460
#include "qcom.glsl"

layout(local_size_x = LANES) in;
layout(set = 0, binding = 0) readonly buffer InQ { float q[]; };
layout(set = 0, binding = 1) readonly buffer InK { float k[]; };
layout(set = 0, binding = 2) readonly buffer InV { float v[]; };
layout(set = 0, binding = 3) buffer Out { float o[]; };

void main()
{
    MATRIX(float, LANES, LANES, Accumulator) scores = MATRIX(float, LANES, LANES, Accumulator)(0);
    for (uint step = 0; step < 16; step += 8) {
        MATRIX(float, LANES, 8, A) a;
        MATRIX(float, 8, LANES, B) b;
        coopMatLoad(a, q, step, 16, ROW_MAJOR);
        coopMatLoad(b, k, step, 16, COL_MAJOR);
        scores = coopMatMulAdd(a, b, scores);
    }
    float row[LANES];
    coopmatToVectorQCOM(scores, row);
    float most = row[0];
    for (uint i = 1; i < LANES; ++i)
        most = max(most, row[i]);
    float sum = 0;
    for (uint i = 0; i < LANES; ++i) {
        row[i] = exp((row[i] - most) / 16);
        sum += row[i];
    }
    for (uint i = 0; i < LANES; ++i)
        row[i] /= sum;
    MATRIX(float, LANES, 16, Accumulator) result = MATRIX(float, LANES, 16, Accumulator)(0);
    for (uint step = 0; step < LANES; step += 8) {
        float part[8];
        extractSubArrayQCOM(row, step, part);
        MATRIX(float, LANES, 8, A) a;
        vectorToCoopmatQCOM(part, a);
        MATRIX(float, 8, 16, B) b;
        coopMatLoad(b, v, step * 16, 16, ROW_MAJOR);
        result = coopMatMulAdd(a, b, result);
    }
    coopMatStore(result, o, 0, 16, ROW_MAJOR);
}
