#version 460
#extension GL_NV_cooperative_vector : require
#include "common.glsl"

layout(set = 0, binding = 0) readonly buffer Network { uint network[]; };

#ifdef BYTES
const int WEIGHT = gl_ComponentTypeSignedInt8NV, BIAS = gl_ComponentTypeSignedInt32NV;
#else
const int WEIGHT = gl_ComponentTypeFloat16NV, BIAS = gl_ComponentTypeFloat16NV;
#endif
const int LAYOUT = gl_CooperativeVectorMatrixLayoutInferencingOptimalNV;

#define SAME(n, x) coopvecNV<SUM, n>(SUM(x))
#define NONE(n, v) v
#define RELU(n, v) max(v, SAME(n, 0))
#define TANH(n, v) tanh(v)

#ifdef BYTES
// Sums come back to a byte, with the weights' steps of 1/128.
#define NARROW(n, v) min(max(v >> SAME(n, 7), SAME(n, -128)), SAME(n, 127))
#else
#define NARROW(n, v) v
#endif

#if HAS_BIASES
#define MULTIPLY(sum, v, m, k, matrix, bias) \
    coopVecMatMulAddNV(sum, v, WEIGHT, network, set + matrix, WEIGHT, network, set + bias, BIAS, m, k, LAYOUT, false, 0)
#else
#define MULTIPLY(sum, v, m, k, matrix, bias) \
    coopVecMatMulNV(sum, v, WEIGHT, network, set + matrix, WEIGHT, m, k, LAYOUT, false, 0)
#endif

#define LAYER(i, before, m, k, matrix, bias, activation) \
    coopvecNV<SUM, m> sum##i; \
    MULTIPLY(sum##i, v##before, m, k, matrix, bias); \
    coopvecNV<T, m> v##i = coopvecNV<T, m>(NARROW(m, activation(m, sum##i)));

void main()
{
    uint pixel = gl_GlobalInvocationID.x;
    if (pixel >= pixels) return;
    uint set = FIRST_BYTE + pixel % SETS * SET_BYTES;
    coopvecNV<T, INPUTS> v0;
    for (uint i = 0; i < INPUTS; i++)
        v0[i] = T(input_at(pixel % width, pixel / width, i));
    LAYERS(LAYER)
    float sum = 0;
    for (uint i = 0; i < RESULTS; i++)
        sum += float(LAST[i]);
    sums[pixel] = sum;
}
