// Outer products and sums of many invocations, odd and even ones with sums of their own, in f16 and f32. Rows of three
// by four numbers are 16 bytes apart in f32 and in f16; the padding stays.
//
// test run
// subgroup 4 32
// dispatch 3 1 1
// in 0.0 f16 gen 90 x 3 = i % 7 - 3
// in 0.1 f16 gen 90 x 4 = i % 5 - 2
// inout 0.2 f32 gen 2 x 12 = i
// out 0.2 f32 gen 2 x 12 = i + sum(k, 45, $0.0[(2*k+r)*3 + div(c, 4)] * $0.1[(2*k+r)*4 + c % 4])
// inout 0.3 f16 gen 6 x 8 = i
// out 0.3 f16 gen 6 x 8 = i + (c < 4 ? sum(k, 45, $0.0[(2*k + div(r, 3))*3 + r % 3] * $0.1[(2*k + div(r, 3))*4 + c]) : 0)
// inout 0.4 f32 gen 9 = i
// out 0.4 f32 gen 9 = i + (i % 4 == 3 || i == 8 ? 0 : sum(k, 45, $0.0[(2*k + div(i, 4))*3 + i % 4]))
// inout 0.5 f16 gen 9 = i
// out 0.5 f16 gen 9 = i + (i < 1 ? 0 : sum(k, 45, $0.1[(2*k + div(i-1, 4))*4 + (i-1) % 4]))
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 30) in;
layout(set = 0, binding = 0) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 2) buffer M { float m[]; };
layout(set = 0, binding = 3) buffer N { float16_t n[]; };
layout(set = 0, binding = 4) buffer S { float s[]; };
layout(set = 0, binding = 5) buffer T { float16_t t[]; };

const int TRAINING = gl_CooperativeVectorMatrixLayoutTrainingOptimalNV;

void main()
{
    uint i = gl_GlobalInvocationID.x, odd = i % 2;
    coopvecNV<float16_t, 3> v;
    coopvecNV<float16_t, 4> w;
    coopVecLoadNV(v, a, i * 6);
    coopVecLoadNV(w, b, i * 8);
    coopVecOuterProductAccumulateNV(v, w, m, odd * 48, 0, TRAINING, gl_ComponentTypeFloat32NV);
    coopVecOuterProductAccumulateNV(v, w, n, odd * 48, 0, TRAINING, gl_ComponentTypeFloat16NV);
    coopVecReduceSumAccumulateNV(coopvecNV<float, 3>(v), s, odd * 16);
    // At an odd number of f16, so that words are shared with what does not change.
    coopVecReduceSumAccumulateNV(w, t, 2 + odd * 8);
}
