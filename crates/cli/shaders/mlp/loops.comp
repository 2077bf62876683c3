// The same as plain loops over arrays: what a shader compiler emits where there are no cooperative vectors.
#version 460
#include "common.glsl"

layout(set = 0, binding = 0) readonly buffer Weights { T weights[]; };
#ifdef BYTES
layout(set = 0, binding = 0) readonly buffer Biases { int biases[]; };
#define ACCUMULATOR int
// Sums come back to a byte, with the weights' steps of 1/128.
#define NARROW(x) min(max(x >> 7, -128), 127)
const uint WEIGHT_BYTES = 1, BIAS_BYTES = 4;
#else
layout(set = 0, binding = 0) readonly buffer Biases { T biases[]; };
#define ACCUMULATOR float
#define NARROW(x) x
const uint WEIGHT_BYTES = 2, BIAS_BYTES = 2;
#endif

#define NONE(x) x
#define RELU(x) max(x, SUM(0))
#define TANH(x) tanh(x)

#if HAS_BIASES
#define START(at) ACCUMULATOR(biases[at])
#else
#define START(at) ACCUMULATOR(0)
#endif

#define LAYER(i, before, m, k, matrix, bias, activation) \
    T v##i[m]; \
    for (uint row = 0; row < m; row++) { \
        ACCUMULATOR sum = START((set + bias) / BIAS_BYTES + row); \
        for (uint j = 0; j < k; j++) { \
            ACCUMULATOR weight = ACCUMULATOR(weights[(set + matrix) / WEIGHT_BYTES + row * k + j]); \
            sum += weight * ACCUMULATOR(v##before[j]); \
        } \
        v##i[row] = T(NARROW(activation(SUM(sum)))); \
    }

void main()
{
    uint pixel = gl_GlobalInvocationID.x;
    if (pixel >= pixels) return;
    uint set = FIRST_BYTE + pixel % SETS * SET_BYTES;
    T v0[INPUTS];
    for (uint i = 0; i < INPUTS; i++)
        v0[i] = T(input_at(pixel % width, pixel / width, i));
    LAYERS(LAYER)
    float sum = 0;
    for (uint i = 0; i < RESULTS; i++)
        sum += float(LAST[i]);
    sums[pixel] = sum;
}
