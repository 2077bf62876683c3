// The slopes of the squared error of a neural texture, for a batch of random texels: each invocation takes one through the
// network and back, and adds what it finds to the gradient.
//
// The numbers that are trained are f32: the network, with its matrices in the layout for adding to, then both grids. The
// network is multiplied by in f16. Slopes are f16, of the sum of the errors and not of their mean, which would be too small.
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_atomic_float : require

layout(local_size_x = 32) in;
layout(push_constant) uniform Push {
    uvec2 size;
    uint batch;
    // Which batch it is.
    uint number;
    // Where the grids begin among the numbers.
    uint fineAt;
    uint coarseAt;
};

layout(set = 0, binding = 1) buffer Gradient { float gradient[]; };
layout(set = 0, binding = 2) readonly buffer Numbers { float numbers[]; };
layout(set = 0, binding = 3) readonly buffer Texels { float texels[]; };
// For each batch the sums of the squared errors of all outputs.
layout(set = 0, binding = 4) buffer Losses { float losses[]; };
#define FINE_NUMBER(i) numbers[fineAt + i]
#define COARSE_NUMBER(i) numbers[coarseAt + i]
#define NETWORK 0
#include "common.glsl"
#include "network.glsl"

const int F32 = gl_ComponentTypeFloat32NV;
const int TRAINING = gl_CooperativeVectorMatrixLayoutTrainingOptimalNV;
const uint LOSS_BYTES = WIDTH * 4;

// A random number (the last part of MurmurHash3).
uint hash(uint x)
{
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

// Gives the slopes of interpolated features to the elements that they came from.
void scatter(VECTOR slopes, uint first, uint count, uvec2 texel, uint step, uint grid)
{
    const Place place = placeOf(texel, step);
    for (uint corner = 0; corner < 4; ++corner) {
        const float weight = weightOf(place, corner);
        const uint at = grid + count * elementOf(place, corner, gridOf(size, step));
        for (uint i = 0; i < count; ++i)
            atomicAdd(gradient[at + i], weight * float(slopes[first + i]));
    }
}

void main()
{
    if (gl_GlobalInvocationID.x >= batch)
        return;
    const uint index = hash(number * batch + gl_GlobalInvocationID.x) % (size.x * size.y);
    const uvec2 texel = uvec2(index % size.x, index / size.x);
    float features[WIDTH];
    featuresOf(texel, size, features);
    const Evaluated at = evaluate(features);

    coopvecNV<float, WIDTH> errors = coopvecNV<float, WIDTH>(0.0);
    for (uint i = 0; i < CHANNELS; ++i)
        errors[i] = float(at.result[i]) - texels[CHANNELS * index + i];
    coopVecReduceSumAccumulateNV(errors * errors, losses, number * LOSS_BYTES);

    // The second layer: of its matrix, of its biases, of what went in.
    const VECTOR slopes = VECTOR(2.0 * errors);
    coopVecOuterProductAccumulateNV(slopes, at.hidden, gradient, TRAINED_MATRIX2, 0, TRAINING, F32);
    coopVecReduceSumAccumulateNV(coopvecNV<float, WIDTH>(slopes), gradient, TRAINED_BIAS2);
    VECTOR hiddenSlopes;
    coopVecMatMulNV(hiddenSlopes, slopes, F16, network, MATRIX2, F16, WIDTH, WIDTH, INFERENCING, true, 0);
    // Where nothing came through, nothing has a slope.
    hiddenSlopes = hiddenSlopes * step(VECTOR(float16_t(0.0)), at.sums);

    // The first layer, in the same way.
    coopVecOuterProductAccumulateNV(hiddenSlopes, at.features, gradient, TRAINED_MATRIX1, 0, TRAINING, F32);
    coopVecReduceSumAccumulateNV(coopvecNV<float, WIDTH>(hiddenSlopes), gradient, TRAINED_BIAS1);
    VECTOR featureSlopes;
    coopVecMatMulNV(featureSlopes, hiddenSlopes, F16, network, MATRIX1, F16, WIDTH, WIDTH, INFERENCING, true, 0);
    scatter(featureSlopes, 0, FINE, texel, FINE_STEP, fineAt);
    scatter(featureSlopes, FINE, COARSE, texel, COARSE_STEP, coarseAt);
}
