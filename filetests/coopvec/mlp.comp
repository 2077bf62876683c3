// The network of the extension's own document, 2x32 with six inputs and eight results, beside plain loops. Its strides are
// those of the layers, where the document's are not.
//
// test run
// subgroup 4 32
// tolerance 0.02 abs
// in 0.0 f16 rand 1472 5 -0.5 0.5 0.0625
// in 0.1 f16 rand 240 6 -2 2 0.125
// out 0.2 f32 gen 40 x 8 = 0
// out 0.3 f32 40 same
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 40) in;
layout(set = 0, binding = 0) readonly buffer W { float16_t w[]; };
layout(set = 0, binding = 1) readonly buffer X { float16_t x[]; };
layout(set = 0, binding = 2) buffer D { float d[]; };
layout(set = 0, binding = 3) buffer R { float r[]; };

const int INPUTS = 6, WIDTH = 32, RESULTS = 8;
const uint OFFSET1 = 0, OFFSET2 = WIDTH * INPUTS * 2, OFFSET3 = OFFSET2 + WIDTH * WIDTH * 2;
const int F16 = gl_ComponentTypeFloat16NV;
const int ROWS = gl_CooperativeVectorMatrixLayoutRowMajorNV;

void main()
{
    uint i = gl_LocalInvocationIndex;
    coopvecNV<float16_t, INPUTS> inputs = coopvecNV<float16_t, INPUTS>(
        x[i * 6], x[i * 6 + 1], x[i * 6 + 2], x[i * 6 + 3], x[i * 6 + 4], x[i * 6 + 5]);
    coopvecNV<float16_t, WIDTH> hidden;
    coopVecMatMulNV(hidden, inputs, F16, w, OFFSET1, F16, WIDTH, INPUTS, ROWS, false, INPUTS * 2);
    hidden = max(coopvecNV<float16_t, WIDTH>(float16_t(0)), hidden);
    coopVecMatMulNV(hidden, hidden, F16, w, OFFSET2, F16, WIDTH, WIDTH, ROWS, false, WIDTH * 2);
    hidden = tanh(hidden);
    coopvecNV<float16_t, RESULTS> results;
    coopVecMatMulNV(results, hidden, F16, w, OFFSET3, F16, RESULTS, WIDTH, ROWS, false, WIDTH * 2);

    float first[WIDTH], second[WIDTH];
    for (int j = 0; j < WIDTH; j++) {
        first[j] = 0;
        for (int k = 0; k < INPUTS; k++)
            first[j] += float(w[j * INPUTS + k]) * float(x[i * 6 + k]);
        first[j] = max(first[j], 0);
    }
    for (int j = 0; j < WIDTH; j++) {
        second[j] = 0;
        for (int k = 0; k < WIDTH; k++)
            second[j] += float(w[OFFSET2 / 2 + j * WIDTH + k]) * first[k];
        second[j] = tanh(second[j]);
    }
    float largest = 0;
    for (int j = 0; j < RESULTS; j++) {
        float sum = 0;
        for (int k = 0; k < WIDTH; k++)
            sum += float(w[OFFSET3 / 2 + j * WIDTH + k]) * second[k];
        d[i * 8 + j] = float(results[j]) - sum;
        largest = max(largest, abs(sum));
    }
    r[i] = largest;
}
