// Products where invocations have parted ways: in branches, in loops that each leaves at its own time, and in functions,
// with vectors as parameters, results, members and elements; the matrix lies at an address. Beside each is a loop.
//
// test run
// subgroup 4 32
// in 0.0 f32 gen 3 x 1600 = (r * 11 + i * 3) % 5 == 4 ? 1 : 0
// in 0.1 addr [0.0]
// out 0.2 f32 gen 50 x 40 = 0
// out 0.3 f32 50 same
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 50) in;
layout(buffer_reference, std430) readonly buffer Matrix { float a[]; };
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer P { Matrix matrix; };
layout(set = 0, binding = 2) buffer D { float d[]; };
layout(set = 0, binding = 3) buffer R { float r[]; };

const int N = 40;
#define V coopvecNV<float, N>

struct Pair { V first; V second[2]; };

V product(V v, inout V other, uint which)
{
    V result;
    coopVecMatMulNV(result, v, gl_ComponentTypeFloat32NV, matrix.a, which * N * N * 4, gl_ComponentTypeFloat32NV, N, N,
                    gl_CooperativeVectorMatrixLayoutRowMajorNV, false, N * 4);
    other = result;
    return min(result, V(7.0));
}

void main()
{
    uint i = gl_LocalInvocationIndex;
    Pair p;
    float plain[N], last[N];
    for (int j = 0; j < N; j++) {
        p.first[j] = float((i + j) % 3);
        plain[j] = p.first[j];
    }
    p.second[1] = p.first;
    for (uint n = 0; n < i % 4; n++) {
        if ((i + n) % 3 == 0)
            continue;
        p.first = product(p.first, p.second[n % 2], (i + n) % 3);
        for (int j = 0; j < N; j++) {
            last[j] = 0;
            for (int k = 0; k < N; k++)
                last[j] += a[((i + n) % 3) * N * N + j * N + k] * plain[k];
        }
        for (int j = 0; j < N; j++)
            plain[j] = min(last[j], 7.0);
    }
    r[i] = plain[i % N];
    V result = p.first;
    for (int j = 0; j < N; j++)
        d[i * N + j] = result[j] - plain[j];
}
