// Products of f16 with the matrix of each invocation's own choice, by rows and by columns. Work-groups of 71x2
// invocations leave the last subgroup in part empty, and every fifth invocation has gone before.
//
// test run
// subgroup 4 32
// spec 0=M 1=K
// keys L=(142*K) W=(142*M) A=(3*M*K)
// in 0.0 f16 gen L = i * 7 % 15 - 7
// in 0.1 f16 gen A = (i * 5 + div(i, 7)) % 11 - 5
// in 0.2 f32 gen W = i % 17 - 8
// inout 0.3 f16 fill W 0
// out 0.3 f16 gen 142 x M = r % 5 == 4 ? 0 : sum(k, K, $0.0[r*K+k] * $0.1[(div(r, 5) % 3)*M*K + c*K + k])
// inout 0.4 f32 fill W 0
// out 0.4 f32 gen 142 x M = r % 5 == 4 ? 0 : sum(k, K, $0.0[r*K+k] * $0.1[(r % 3)*M*K + k*M + c]) + $0.2[(r % 3)*M + c]
// dispatch 1 1 1
// case one: M=1 K=1
// case narrow: M=1 K=9
// case flat: M=31 K=2
// case small: M=3 K=5
// case lists: M=32 K=32
// case long: M=33 K=65
// subgroup 32
// case larger: M=128 K=64
// subgroup 32
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 71, local_size_y = 2) in;
layout(constant_id = 0) const uint M = 8;
layout(constant_id = 1) const uint K = 8;
layout(set = 0, binding = 0) readonly buffer X { float16_t x[]; };
layout(set = 0, binding = 1) readonly buffer A { float16_t a[]; };
layout(set = 0, binding = 2) readonly buffer B { float b[]; };
layout(set = 0, binding = 3) buffer R { float16_t r[]; };
layout(set = 0, binding = 4) buffer S { float s[]; };

void main()
{
    uint i = gl_LocalInvocationIndex;
    if (i % 5 == 4) return;
    coopvecNV<float16_t, K> v;
    coopVecLoadNV(v, x, i * K * 2);
    coopvecNV<float16_t, M> rows;
    coopVecMatMulNV(rows, v, gl_ComponentTypeFloat16NV, a, i / 5 % 3 * M * K * 2, gl_ComponentTypeFloat16NV, M, K,
                    gl_CooperativeVectorMatrixLayoutRowMajorNV, false, K * 2);
    coopVecStoreNV(rows, r, i * M * 2);
    coopvecNV<float, M> columns;
    coopVecMatMulAddNV(columns, v, gl_ComponentTypeFloat16NV, a, i % 3 * M * K * 2, gl_ComponentTypeFloat16NV,
                       b, i % 3 * M * 4, gl_ComponentTypeFloat32NV, M, K,
                       gl_CooperativeVectorMatrixLayoutColumnMajorNV, false, M * 2);
    coopVecStoreNV(columns, s, i * M * 4);
}
