// The optimal layouts, with padding that must not matter, as they are and transposed: 3x5 matrices, whose rows of
// binary32 take 32 bytes and whose columns 16, and those of f16 16 each.
//
// test run
// subgroup 4 32
// in 0.0 f16 gen 40 x 5 = (r * 5 + c) % 9 - 4
// in 0.1 f32 gen 3 x 8 = c < 5 ? r * 5 + c - 6 : 1000
// in 0.2 f32 gen 5 x 4 = c < 3 ? c * 5 + r - 6 : 1000
// matrix 0.1 f16 3 5 0
// matrix 0.2 f16 5 3 0
// in 0.3 f16 gen 3 x 8 = c < 5 ? r * 5 + c - 6 : 1000
// in 0.4 f16 gen 5 x 8 = c < 3 ? c * 5 + r - 6 : 1000
// out 0.5 f32 gen 40 x 12 = sum(k, 5, $0.0[r*5+k] * (c % 3 * 5 + k - 6))
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 40) in;
layout(set = 0, binding = 0) readonly buffer X { float16_t x[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(set = 0, binding = 2) readonly buffer B { float b[]; };
layout(set = 0, binding = 3) readonly buffer C { float16_t c[]; };
layout(set = 0, binding = 4) readonly buffer D { float16_t d[]; };
layout(set = 0, binding = 5) buffer R { float r[]; };

void main()
{
    uint i = gl_LocalInvocationIndex;
    coopvecNV<float16_t, 5> v;
    coopVecLoadNV(v, x, i * 10);
    coopvecNV<float, 3> w;
    // Strides are ignored.
    coopVecMatMulNV(w, v, gl_ComponentTypeFloat16NV, a, 0, gl_ComponentTypeFloat16NV, 3, 5,
                    gl_CooperativeVectorMatrixLayoutInferencingOptimalNV, false, 1);
    coopVecStoreNV(w, r, i * 48);
    coopVecMatMulNV(w, v, gl_ComponentTypeFloat16NV, b, 0, gl_ComponentTypeFloat16NV, 3, 5,
                    gl_CooperativeVectorMatrixLayoutInferencingOptimalNV, true, 1);
    coopVecStoreNV(w, r, i * 48 + 12);
    coopVecMatMulNV(w, v, gl_ComponentTypeFloat16NV, c, 0, gl_ComponentTypeFloat16NV, 3, 5,
                    gl_CooperativeVectorMatrixLayoutTrainingOptimalNV, false, 1);
    coopVecStoreNV(w, r, i * 48 + 24);
    coopVecMatMulNV(w, v, gl_ComponentTypeFloat16NV, d, 0, gl_ComponentTypeFloat16NV, 3, 5,
                    gl_CooperativeVectorMatrixLayoutTrainingOptimalNV, true, 1);
    coopVecStoreNV(w, r, i * 48 + 36);
}
