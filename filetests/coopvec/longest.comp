// The longest vectors, as result and as input, by bytes and by f16: the ends of the limits.
//
// test run
// subgroup 4 32
// spec 0=M 1=K
// keys L=(3*K) W=(3*M) A=(M*K)
// in 0.0 i8 gen L = (i * 37) % 256 - 128
// in 0.1 i8 gen A = (i * 29) % 256 - 128
// in 0.2 f16 gen L = i % 5 - 2
// in 0.3 f16 gen A = i % 3 - 1
// inout 0.4 i32 fill W 0
// out 0.4 i32 gen 3 x M = sum(k, K, $0.0[r*K+k] * $0.1[c*K+k])
// inout 0.5 f32 fill W 0
// out 0.5 f32 gen 3 x M = sum(k, K, $0.2[r*K+k] * $0.3[k*M+c])
// dispatch 1 1 1
// case result: M=1024 K=1
// case input: M=1 K=1024
// case both: M=1024 K=16
// subgroup 32
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 3) in;
layout(constant_id = 0) const uint M = 8;
layout(constant_id = 1) const uint K = 8;
layout(set = 0, binding = 0) readonly buffer X { int8_t x[]; };
layout(set = 0, binding = 1) readonly buffer A { int8_t a[]; };
layout(set = 0, binding = 2) readonly buffer Y { float16_t y[]; };
layout(set = 0, binding = 3) readonly buffer B { float16_t b[]; };
layout(set = 0, binding = 4) buffer R { int r[]; };
layout(set = 0, binding = 5) buffer S { float s[]; };

void main()
{
    uint i = gl_LocalInvocationIndex;
    coopvecNV<int8_t, K> v;
    coopVecLoadNV(v, x, i * K);
    coopvecNV<int, M> ints;
    coopVecMatMulNV(ints, v, gl_ComponentTypeSignedInt8NV, a, 0, gl_ComponentTypeSignedInt8NV, M, K,
                    gl_CooperativeVectorMatrixLayoutRowMajorNV, false, K);
    coopVecStoreNV(ints, r, i * M * 4);
    coopvecNV<float16_t, K> w;
    coopVecLoadNV(w, y, i * K * 2);
    coopvecNV<float, M> floats;
    coopVecMatMulNV(floats, w, gl_ComponentTypeFloat16NV, b, 0, gl_ComponentTypeFloat16NV, M, K,
                    gl_CooperativeVectorMatrixLayoutColumnMajorNV, false, M * 2);
    coopVecStoreNV(floats, s, i * M * 4);
}
