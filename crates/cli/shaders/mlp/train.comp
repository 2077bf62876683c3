// The slopes of the squared error of a network, as training has them: each invocation takes a pixel through the network and
// back, and adds the slopes of all weights and biases to the gradient. What is learnt is the input of another pixel.
//
// LAYERS(L) lists the layers as elsewhere, BACK(L) lists them from the last to the first: L(number, number of the one before,
// results, inputs, byte offset of the matrix, those of the matrix and of the biases in the gradient, activation).
#version 460
#extension GL_NV_cooperative_vector : require
#define SUMS 3
#include "common.glsl"

layout(set = 0, binding = 0) readonly buffer Network { float16_t network[]; };
layout(set = 0, binding = 1) buffer Gradient { float gradient[]; };

const int F16 = gl_ComponentTypeFloat16NV, F32 = gl_ComponentTypeFloat32NV;
const int INFERENCING = gl_CooperativeVectorMatrixLayoutInferencingOptimalNV;
const int TRAINING = gl_CooperativeVectorMatrixLayoutTrainingOptimalNV;

#define SAME(n, x) coopvecNV<T, n>(T(x))
#define NONE(n, v) v
#define RELU(n, v) max(v, SAME(n, 0))
#define TANH(n, v) tanh(v)
// From the slopes of a layer's results to those of its sums.
#define BACK_NONE(n, slopes, sum, v) slopes
#define BACK_RELU(n, slopes, sum, v) slopes * step(SAME(n, 0), sum)
#define BACK_TANH(n, slopes, sum, v) slopes * (SAME(n, 1) - v * v)

#if HAS_BIASES
#define MULTIPLY(sum, v, m, k, matrix, bias) \
    coopVecMatMulAddNV(sum, v, F16, network, matrix, F16, network, bias, F16, m, k, INFERENCING, false, 0)
#define ADD_BIASES(slopes, m, bias) coopVecReduceSumAccumulateNV(coopvecNV<float, m>(slopes), gradient, bias)
#else
#define MULTIPLY(sum, v, m, k, matrix, bias) \
    coopVecMatMulNV(sum, v, F16, network, matrix, F16, m, k, INFERENCING, false, 0)
#define ADD_BIASES(slopes, m, bias)
#endif

#define LAYER(i, before, m, k, matrix, bias, activation) \
    coopvecNV<T, m> sum##i; \
    MULTIPLY(sum##i, v##before, m, k, matrix, bias); \
    coopvecNV<T, m> v##i = activation(m, sum##i);

#define BACK_LAYER(i, before, m, k, matrix, trained, bias, activation) \
    coopvecNV<T, m> slopes##i = BACK_##activation(m, back##i, sum##i, v##i); \
    coopVecOuterProductAccumulateNV(slopes##i, v##before, gradient, trained, 0, TRAINING, F32); \
    ADD_BIASES(slopes##i, m, bias); \
    coopvecNV<T, k> back##before; \
    coopVecMatMulNV(back##before, slopes##i, F16, network, matrix, F16, k, m, INFERENCING, true, 0);

void main()
{
    uint pixel = gl_GlobalInvocationID.x;
    if (pixel >= pixels) return;
    uint x = pixel % width, y = pixel / width;
    coopvecNV<T, INPUTS> v0;
    for (uint i = 0; i < INPUTS; i++)
        v0[i] = T(input_at(x, y, i));
    LAYERS(LAYER)
    coopvecNV<T, RESULTS> wanted;
    for (uint i = 0; i < RESULTS; i++)
        wanted[i] = T(input_at(y, x, i));
    coopvecNV<T, RESULTS> BACK_LAST = LAST - wanted;
    BACK(BACK_LAYER)
    float sum = 0;
    for (uint i = 0; i < INPUTS; i++)
        sum += float(back0[i]);
    sums[pixel] = sum;
}
