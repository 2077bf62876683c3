// Operators and built-in functions on long vectors against the same on their components: bit n of an invocation's word is
// set where the n-th of them differs in some component.
//
// test run
// subgroup 4 32
// define LENGTH N
// in 0.0 f32 rand L 1 0.25 7.75 0.25
// out 0.1 u32 [0*64]
// push f32 gen P = i+1
// case one: N=1 L=64 P=1
// case five: N=5 L=320 P=5
// case thirty-two: N=32 L=2048 P=32
// case thirty-three: N=33 L=2112 P=33
// case sixty-four: N=64 L=4096 P=64
#version 460
#extension GL_EXT_long_vector : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require

layout(local_size_x = 32) in;

#define F vector<float, LENGTH>
#define I vector<int, LENGTH>
#define H vector<float16_t, LENGTH>
#define B vector<uint8_t, LENGTH>

layout(set = 0, binding = 0, scalar) readonly buffer In { F a[]; };
layout(set = 0, binding = 1) buffer Out { uint wrong[]; };
layout(push_constant, scalar) uniform Push { F p; };

uint at = 0;

void next(bool same)
{
    uint word = at / 32;
    uint bit = at++ % 32;
    if (!same) atomicOr(wrong[gl_LocalInvocationIndex * 2 + word], 1u << bit);
}

bool near(float x, float y) { return abs(x - y) <= 1e-5 * max(1.0, abs(y)); }

#define EACH(LEFT, RIGHT) { bool same = true; for (int i = 0; i < LENGTH; ++i) same = same && near(float(LEFT), float(RIGHT)); next(same); }
#define FLOAT(EXPRESSION, RIGHT) { F r = EXPRESSION; EACH(r[i], RIGHT) }
#define INT(EXPRESSION, RIGHT) { I r = EXPRESSION; EACH(r[i], RIGHT) }

void main()
{
    uint id = gl_LocalInvocationIndex;
    wrong[id * 2] = wrong[id * 2 + 1] = 0;
    F x = a[id], y = a[id + 32];
    I m = I(x * 4.0), n = I(y * 4.0);
    float s = 1.5 + float(id);

    FLOAT(x + y, x[i] + y[i])
    FLOAT(x - y * s, x[i] - y[i] * s)
    FLOAT(F(s) / x, s / x[i])
    FLOAT(mod(-x, y), mod(-x[i], y[i]))
    FLOAT(p * x + p, p[i] * x[i] + float(i + 1))
    INT(m / n - m % n, m[i] / n[i] - m[i] % n[i])
    INT((m << 3) ^ ~n | (m & n) >> 1, (m[i] << 3) ^ ~n[i] | (m[i] & n[i]) >> 1)
    FLOAT(sqrt(exp(x * 0.25)), sqrt(exp(x[i] * 0.25)))
    FLOAT(pow(x, y * 0.5), pow(x[i], y[i] * 0.5))
    FLOAT(atan(x, y) + tanh(x), atan(x[i], y[i]) + tanh(x[i]))
    FLOAT(clamp(x, 2.0, 5.0), clamp(x[i], 2.0, 5.0))
    FLOAT(min(x, y) - max(x, F(4.0)), min(x[i], y[i]) - max(x[i], 4.0))
    FLOAT(mix(x, y, 0.25), mix(x[i], y[i], 0.25))
    FLOAT(mix(x, y, lessThan(x, y)), max(x[i], y[i]))
    FLOAT(step(x, y) + smoothstep(1.0, 6.0, x), step(x[i], y[i]) + smoothstep(1.0, 6.0, x[i]))
    FLOAT(fma(x, y, p), x[i] * y[i] + p[i])
    FLOAT(fract(x) + floor(y) - sign(x - y), fract(x[i]) + floor(y[i]) - sign(x[i] - y[i]))
    INT(findMSB(m) + bitCount(n), findMSB(m[i]) + bitCount(n[i]))
    INT(bitfieldExtract(m, 1, 3) + abs(m - n), bitfieldExtract(m[i], 1, 3) + abs(m[i] - n[i]))

    // What is no operation on each component.
    float dots = 0.0, far = 0.0;
    bool all_less = true, any_less = false;
    for (int i = 0; i < LENGTH; ++i) {
        dots += x[i] * y[i];
        far += (x[i] - y[i]) * (x[i] - y[i]);
        all_less = all_less && x[i] < y[i];
        any_less = any_less || x[i] < y[i];
    }
    next(near(dot(x, y), dots));
    next(near(distance(x, y), sqrt(far)));
    next(all(lessThan(x, y)) == all_less && any(lessThan(x, y)) == any_less);
    next((x == y) == (far == 0.0) && (x != x + F(1.0)));
    FLOAT(normalize(x) * length(x), x[i])
    FLOAT(reflect(x, y), x[i] - 2.0 * dots * y[i])
    FLOAT(faceforward(x, y, -x), x[i])

    // Results in two parts.
    F whole;
    F part = modf(x, whole);
    EACH(part[i] + whole[i] * 2.0, x[i] + floor(x[i]))
#if LENGTH > 1  // glslang takes the exponents of a vector of one component for a scalar
    I exponent;
    FLOAT(ldexp(frexp(x, exponent), exponent + I(1)), x[i] * 2.0)
#endif

    // Other types, and their bits.
    H h = H(x);
    h = h * h + float16_t(1.0);
    EACH(h[i], float16_t(x[i]) * float16_t(x[i]) + float16_t(1.0))
    B b = B(m * 9);
    EACH(I(b)[i], (m[i] * 9) & 255)
    EACH(floatBitsToInt(x)[i], floatBitsToInt(x[i]))
    FLOAT(intBitsToFloat(floatBitsToInt(x) + I(0)), x[i])

    // Between invocations.
    FLOAT(subgroupAdd(x), subgroupAdd(x[i]))
    FLOAT(subgroupShuffleXor(x, 1), subgroupShuffleXor(x[i], 1))
    FLOAT(subgroupInclusiveMax(x + 100.0), subgroupInclusiveMax(x[i] + 100.0))
}
