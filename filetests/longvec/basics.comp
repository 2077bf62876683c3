// Long vectors of a specialised length through everything that vectors go through: arithmetic, comparison, choice,
// conversion, built-in functions, dynamic components, functions, loops, arrays and structures.
//
// test run
// subgroup 4 32
// spec 0=N
// keys L=(64*N)
// in 0.0 f32 gen L = (i * 7 % 23) - 11
// in 0.1 f32 gen L = (i * 5 % 19) + 1
// out 0.2 f32 gen 64 x N = $0.0[r*N+c] + $0.1[r*N+c] * 2
// out 0.3 f32 gen 64 x N = $0.0[r*N+c] < $0.1[r*N+c] ? $0.1[r*N+c] : 0 - $0.0[r*N+c]
// out 0.4 i32 gen 64 x N = $0.0[r*N+c] * 3 - c
// out 0.5 f32 gen 64 = sum(k, N, $0.0[i*N+k] * $0.1[i*N+k])
// out 0.6 f32 gen 64 x N = $0.0[r*N+(c+r)%N] + 1
// case one: N=1
// case three: N=3
// case five: N=5
// case seventeen: N=17
// case most: N=1024
// subgroup 8
#version 460
#extension GL_EXT_long_vector : require

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint N = 4;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) buffer Sum { float sum[]; };
layout(set = 0, binding = 3) buffer Chosen { float chosen[]; };
layout(set = 0, binding = 4) buffer Integers { int integers[]; };
layout(set = 0, binding = 5) buffer Dots { float dots[]; };
layout(set = 0, binding = 6) buffer Turned { float turned[]; };

#define V vector<float, N>

struct Pair { V first; int between; V second[2]; };

V twice(V v, inout V other)
{
    other += v;
    return v * 2.0;
}

void main()
{
    uint at = gl_LocalInvocationIndex * N;
    V x, y;
    for (uint i = 0; i < N; ++i) {
        x[i] = a[at + i];
        y[i] = b[at + i];
    }
    V total = x;
    V more = twice(y, total);
    total += y;                                    // x + 2 y
    for (uint i = 0; i < N; ++i) sum[at + i] = total[i];

    V c = mix(-x, y, lessThan(x, y));
    for (uint i = 0; i < N; ++i) chosen[at + i] = c[i];

    vector<int, N> whole = vector<int, N>(x) * 3;
    for (uint i = 0; i < N; ++i) {
        whole[i] -= int(i);
        integers[at + i] = whole[i];
    }
    dots[gl_LocalInvocationIndex] = dot(x, y);

    Pair p;
    p.first = x;
    p.between = 1;
    p.second[0] = more;
    p.second[gl_LocalInvocationIndex & 1u] = p.first + V(float(p.between));
    V last = p.second[gl_LocalInvocationIndex & 1u];
    for (uint i = 0; i < N; ++i)
        turned[at + i] = last[(i + gl_LocalInvocationIndex) % N];
}
