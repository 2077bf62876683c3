// The network of a neural texture by cooperative vectors: two layers of 16, their matrices in the layout for multiplying.
//
// MATRIX1, BIAS1, MATRIX2 and BIAS2 are where they and the biases begin, in bytes; NETWORK is the binding.

layout(set = 0, binding = NETWORK) readonly buffer Network { float16_t network[]; };

#define VECTOR coopvecNV<float16_t, WIDTH>

const int F16 = gl_ComponentTypeFloat16NV;
const int INFERENCING = gl_CooperativeVectorMatrixLayoutInferencingOptimalNV;

// What goes into the first layer, its sums before and behind the activation, and the outputs.
struct Evaluated {
    VECTOR features;
    VECTOR sums;
    VECTOR hidden;
    VECTOR result;
};

Evaluated evaluate(float features[WIDTH])
{
    Evaluated at;
    for (uint i = 0; i < WIDTH; ++i)
        at.features[i] = float16_t(features[i]);
    coopVecMatMulAddNV(at.sums, at.features, F16, network, MATRIX1, F16, network, BIAS1, F16, WIDTH, WIDTH, INFERENCING, false, 0);
    at.hidden = max(at.sums, VECTOR(float16_t(0.0)));
    coopVecMatMulAddNV(at.result, at.hidden, F16, network, MATRIX2, F16, network, BIAS2, F16, WIDTH, WIDTH, INFERENCING, false, 0);
    return at;
}
