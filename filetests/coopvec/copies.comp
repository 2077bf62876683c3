// Values of vectors are not the variables that they were loaded from: one that is looked at later is as it was, whatever is
// stored meanwhile. Each invocation compares with the same on scalars, component by component.
//
// test run
// subgroup 4 32
// spec 0=N
// keys L=(40*N)
// in 0.0 f32 gen L = (i * 7 % 23 - 11) / 4
// in 0.1 f32 gen L = (i * 5 % 19 + 1) / 4
// out 0.2 u32 gen 40 = 0
// case four: N=4
// case long: N=41
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 40) in;
layout(constant_id = 0) const uint N = 4;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) readonly buffer Y { float y[]; };
layout(set = 0, binding = 2) buffer E { uint wrong[]; };

#define vec coopvecNV<float, N>
#define CHECK(vector, scalar) for (uint j = 0; j < N; j++) { \
    float s = x[at + j], t = y[at + j]; if ((vector)[j] != (scalar)) bad++; }

vec shared_by_calls;

void give(vec from, out vec to, out vec twice) { to = from; twice = from + from; }
void swap(inout vec p, inout vec q) { vec kept = p; p = q; q = kept; }
vec add_to_shared(vec v) { shared_by_calls += v; return shared_by_calls - v; }
struct Pair { vec first, second; };

void main()
{
    uint i = gl_LocalInvocationIndex, at = i * N, bad = 0;
    vec v, w;
    coopVecLoadNV(v, x, at * 4);
    coopVecLoadNV(w, y, at * 4);

    // What is computed of a variable goes back there, once or several times in one expression.
    vec a = v;
    a = a + a * a - a;
    CHECK(a, s * s)
    a = v; a += w; a *= a;
    CHECK(a, (s + t) * (s + t))

    // The old value is used behind a store to the variable.
    vec old = a = v;
    a = w;
    vec both = old + a;
    CHECK(both, s + t)

    // One component of a copy changes.
    vec e = v;
    vec f = e;
    e[N - 1] = 100;
    CHECK(f, s)
    CHECK(e, j == N - 1 ? 100 : s)
    f[i % N] = 200;
    CHECK(f, j == i % N ? 200 : s)

    // Through parameters, also of one variable twice, and through a variable that calls share.
    vec g, h;
    give(v, g, h);
    CHECK(g, s)
    CHECK(h, s + s)
    give(g, h, g);
    CHECK(h, s)
    CHECK(g, s + s)
    swap(g, h);
    CHECK(g, s)
    CHECK(h, s + s)
    swap(g, g);
    CHECK(g, s)
    shared_by_calls = w;
    vec k = add_to_shared(v) + add_to_shared(v);
    CHECK(k, t + (s + t))
    CHECK(shared_by_calls, t + s + s)

    // In other control flow than where it was loaded.
    vec m = v, before = v;
    for (uint round = 0; round < 3; round++) {
        before = m;
        if ((i + round) % 2 == 0) m = m + w; else m = m - w;
    }
    CHECK(before, i % 2 == 0 ? s + t - t : s - t + t)
    CHECK(m, i % 2 == 0 ? s + t - t + t : s - t + t - t)

    // In arrays and structures.
    vec list[2] = { v, w };
    list[i % 2] = list[1 - i % 2];
    CHECK(list[0], i % 2 == 0 ? t : s)
    CHECK(list[1], i % 2 == 0 ? t : s)
    Pair pair = Pair(v, w);
    pair = Pair(pair.second, pair.first);
    CHECK(pair.first, t)
    CHECK(pair.second, s)
    wrong[i] = bad;
}
