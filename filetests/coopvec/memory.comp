// Vectors from and to storage, shared and addressed memory, at offsets of each invocation's own, and without a byte more
// than they have. The elements of the arrays are wider than the components: offsets count bytes.
//
// test run
// subgroup 4 32
// spec 0=N
// keys L=(32*N) P=(2*N)
// in 0.0 f32 gen L = i
// inout 0.1 f16 gen 32 x P = 0 - i % 100
// out 0.1 f16 gen 32 x P = c < N ? r * 3 + c : 0 - i % 100
// in 0.2 addr [0.0]
// out 0.3 f32 gen 32 x N = (31 - r) * N + c
// out 0.4 f32 gen 32 x N = r * N + (c + 1) % N
// case one: N=1
// case three: N=3
// case even: N=4
// case lists: N=32
// case long: N=36
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint N = 4;
layout(buffer_reference, std430) readonly buffer Numbers { float number[]; };
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) buffer H { float16_t h[]; };
layout(set = 0, binding = 2) readonly buffer P { Numbers numbers; };
layout(set = 0, binding = 3) buffer R { float r[]; };
layout(set = 0, binding = 4) buffer S { float s[]; };
shared float across[36 * 32];

void main()
{
    uint i = gl_LocalInvocationIndex;
    coopvecNV<float16_t, N> small;
    for (int j = 0; j < small.length(); j++)
        small[j] = float16_t(i * 3 + j);
    coopVecStoreNV(small, h, i * N * 4);

    coopvecNV<float, N> v, w[2];
    coopVecLoadNV(v, x, i * N * 4);
    coopVecStoreNV(v, across, i * N * 4);
    barrier();
    coopVecLoadNV(w[1], across, (31 - i) * N * 4);
    coopVecStoreNV(w[1], r, i * N * 4);

    coopVecLoadNV(w[0], numbers.number, i * N * 4);
    for (uint j = 0; j < N; j++)
        v[j] = w[0][(j + 1) % N];
    coopVecStoreNV(v, s, i * N * 4);
}
