// What may be done with cooperative vectors beside products, whose component types, lengths and constants vary: arithmetic,
// conversions, bits and the functions of the extension, each beside the same on scalars.
//
// test run
// subgroup 4 32
// spec 0=N
// keys L=(40*N)
// in 0.0 f32 gen L = (i * 7 % 23 - 11) / 4
// in 0.1 f32 gen L = (i * 5 % 19 + 1) / 4
// tolerance 0.0001 abs
// out 0.2 f32 gen 40 = 0
// out 0.3 u32 gen 40 = 0
// case one: N=1
// case five: N=5
// case long: N=41
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 40) in;
layout(constant_id = 0) const uint N = 4;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) readonly buffer Y { float y[]; };
layout(set = 0, binding = 2) buffer D { float d[]; };
layout(set = 0, binding = 3) buffer E { uint e[]; };

#define CHECK(vector, scalar) { coopvecNV<float, N> left = vector; for (uint j = 0; j < N; j++) { \
    float a = v[j], b = w[j]; worst = max(worst, abs(left[j] - (scalar))); } }
#define CHECK_BITS(vector, scalar) { coopvecNV<int, N> left = vector; for (uint j = 0; j < N; j++) { \
    int a = s[j], b = t[j]; wrong |= uint(left[j] ^ (scalar)); } }

void main()
{
    uint i = gl_LocalInvocationIndex, wrong = 0;
    float worst = 0;
    coopvecNV<float, N> v, w;
    coopVecLoadNV(v, x, i * N * 4);
    coopVecLoadNV(w, y, i * N * 4);
    CHECK(v + w, a + b)
    CHECK(v - w, a - b)
    CHECK(v * w, a * b)
    CHECK(v / w, a / b)
    CHECK(-v, -a)
    CHECK(v * 3.0, a * 3.0)
    CHECK(min(v, w), min(a, b))
    CHECK(max(v, w), max(a, b))
    CHECK(clamp(v, -w, w), clamp(a, -b, b))
    CHECK(step(v, w), step(a, b))
    CHECK(exp(v), exp(a))
    CHECK(log(w), log(b))
    CHECK(tanh(v), tanh(a))
    CHECK(atan(v), atan(a))
    CHECK(fma(v, w, v), fma(a, b, a))
    CHECK((coopvecNV<float, N>(coopvecNV<float16_t, N>(v))), a)
    d[i] = worst;

    coopvecNV<int, N> s = coopvecNV<int, N>(v * 16.0), t = coopvecNV<int, N>(w * 4.0);
    CHECK_BITS(s + t, a + b)
    CHECK_BITS(s - t, a - b)
    CHECK_BITS(s * t, a * b)
    CHECK_BITS(s / t, a / b)
    CHECK_BITS(-s, -a)
    CHECK_BITS(s & t, a & b)
    CHECK_BITS(s | t, a | b)
    CHECK_BITS(s ^ t, a ^ b)
    CHECK_BITS(~s, ~a)
    CHECK_BITS(s << (t & (coopvecNV<int, N>(7))), a << (b & 7))
    CHECK_BITS(s >> (t & (coopvecNV<int, N>(7))), a >> (b & 7))
    CHECK_BITS(min(s, t), min(a, b))
    CHECK_BITS(max(s, t), max(a, b))
    CHECK_BITS(clamp(s, -t, t), clamp(a, -b, b))
    CHECK_BITS((coopvecNV<int, N>(coopvecNV<int8_t, N>(s))), int(int8_t(a)))
    e[i] = wrong;
}
