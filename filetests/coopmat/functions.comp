// Matrices as parameters (in, inout, out), as results, in arrays and structures that functions take and return, in
// nested calls and in loops.
//
// test run
// subgroup 4 32
// in 0.0 f16 ramp 64 0 0.25
// in 0.1 f16 ramp 64 -4 0.125
// out 0.2 f32 gen 64 = 1 + 2 * sum(k, 8, $0.0[div(i, 8) * 8 + k] * $0.1[k * 8 + i % 8])
// out 0.3 f32 fill 64 25
// out 0.4 f16 gen 64 = $0.1[i] + $0.0[i]
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer I0 { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { float16_t b[]; };
layout(set = 0, binding = 2) buffer O2 { float c[]; };
layout(set = 0, binding = 3) buffer O3 { float d[]; };
layout(set = 0, binding = 4) buffer O4 { float16_t e[]; };
#define A MATRIX(float16_t, 8, 8, A)
#define B MATRIX(float16_t, 8, 8, B)
#define C MATRIX(float, 8, 8, Accumulator)
struct Both { A a; B b; };

Both loaded()
{
    Both both;
    coopMatLoad(both.a, a, 0, 8, ROW_MAJOR);
    coopMatLoad(both.b, b, 0, 8, ROW_MAJOR);
    return both;
}

C multiply(A x, const B y, C z) { return coopMatMulAdd(x, y, z); }

void accumulate(Both both, inout C sum) { sum = multiply(both.a, both.b, sum); }

void ten(out C m) { m = C(10.0); }

C total(C parts[3], int count)
{
    C sum;
    ten(sum);
    for (int i = 0; i < count; ++i)
        sum = sum + parts[i];
    return sum;
}

A addA(A x, A y) { return x + y; }

void main()
{
    Both both = loaded();
    C sum = C(1.0);
    for (int i = 0; i < 2; ++i)
        accumulate(both, sum);
    coopMatStore(sum, c, 0, 8, ROW_MAJOR);
    C parts[3] = { C(5.0), C(5.0), C(5.0) };
    coopMatStore(total(parts, 3), d, 0, 8, ROW_MAJOR);
    A other;
    coopMatLoad(other, b, 0, 8, ROW_MAJOR);
    coopMatStore(addA(other, both.a), e, 0, 8, ROW_MAJOR);
}
