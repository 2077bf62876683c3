// Two layers whose features stay with their invocation: the seed's neural texture in small. Several subgroups of a
// work-group, each with inputs of its own.
//
// test run
// subgroup 32 64
// dispatch 2 1 1
// in 0.0 f16 rand 256*16 1 -2 2 1
// in 0.1 f16 rand 16*16 2 -1 1 1
// in 0.2 f16 rand 16*16 3 -1 1 1
// out 0.3 f16 gen 256 x 16 = sum(j, 16, max(sum(k, 16, $0.0[r * 16 + k] * $0.1[k * 16 + j]), 0) * $0.2[j * 16 + c])
#version 460
#include "qcom.glsl"

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer In { float16_t x[]; };
layout(set = 0, binding = 1) readonly buffer Weights0 { float16_t w0[]; };
layout(set = 0, binding = 2) readonly buffer Weights1 { float16_t w1[]; };
layout(set = 0, binding = 3) buffer Out { float16_t y[]; };

#define ACC MATRIX(float16_t, 32, 16, Accumulator)

void main()
{
    const uint pixel = gl_GlobalInvocationID.x;
    MATRIX(float16_t, 16, 16, B) b0, b1;
    coopMatLoad(b0, w0, 0, 16, ROW_MAJOR);
    coopMatLoad(b1, w1, 0, 16, ROW_MAJOR);
    // Subgroups of 64 do their halves one after the other.
    for (uint half_ = 0; half_ < gl_SubgroupSize / 32; ++half_) {
        float16_t features[16];
        for (uint i = 0; i < 16; ++i)
            features[i] = x[((pixel - gl_SubgroupInvocationID) + half_ * 32 + gl_SubgroupInvocationID % 32) * 16 + i];
        MATRIX(float16_t, 32, 16, A) a0, a1;
        vectorToCoopmatQCOM(features, a0);
        ACC c1 = coopMatMulAdd(a0, b0, ACC(0));
        float16_t hidden[16];
        coopmatToVectorQCOM(c1, hidden);
        for (uint i = 0; i < 16; ++i)
            hidden[i] = max(hidden[i], float16_t(0));
        vectorToCoopmatQCOM(hidden, a1);
        ACC c2 = coopMatMulAdd(a1, b1, ACC(0));
        float16_t result[16];
        coopmatToVectorQCOM(c2, result);
        if (gl_SubgroupInvocationID < 32)
            for (uint i = 0; i < 16; ++i)
                y[((pixel - gl_SubgroupInvocationID) + half_ * 32 + gl_SubgroupInvocationID) * 16 + i] = result[i];
    }
}
