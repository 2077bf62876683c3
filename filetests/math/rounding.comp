// Functions of GLSL.std.450 that are exact: rounding, absolute value, sign, minima and clamps.
//
// test run
// in 0.0 f32 [1.5 2.5 -1.5 -0.5 0.49999997 -2.7 3.2 0]
// out 0.1 f32 [1 2 -2 -1 0 -3 3 0]
// out 0.2 f32 [2 3 -1 0 1 -2 4 0]
// out 0.3 f32 [1 2 -1 0 0 -2 3 0]
// out 0.4 f32 [2 2 -2 0 0 -3 3 0]
// tolerance 1e-6 abs
// out 0.5 f32 [0.5 0.5 0.5 0.5 0.49999997 0.3 0.2 0]
// tolerance exact
// out 0.6 f32 [1 1 -1 -1 1 -1 1 0]
// out 0.7 f32 [1.5 2.5 1.5 0.5 0.49999997 2.7 3.2 0]
// out 0.8 f32 [1.5 2 -1 -0.5 0.49999997 -1 2 0]
// out 0.9 f32 [1 1 0 0 0 0 1 0]
// tolerance 1e-6 rel
// out 0.10 f32 [1.5 2.5 -1.5 -0.5 0.49999997 -2.7 3.2 0]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer O1 { float f[]; };
layout(set = 0, binding = 2) buffer O2 { float c[]; };
layout(set = 0, binding = 3) buffer O3 { float t[]; };
layout(set = 0, binding = 4) buffer O4 { float e[]; };
layout(set = 0, binding = 5) buffer O5 { float fr[]; };
layout(set = 0, binding = 6) buffer O6 { float sg[]; };
layout(set = 0, binding = 7) buffer O7 { float ab[]; };
layout(set = 0, binding = 8) buffer O8 { float cl[]; };
layout(set = 0, binding = 9) buffer O9 { float st[]; };
layout(set = 0, binding = 10) buffer O10 { float md[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    f[i] = floor(a[i]);
    c[i] = ceil(a[i]);
    t[i] = trunc(a[i]);
    e[i] = roundEven(a[i]);
    fr[i] = fract(a[i]);
    sg[i] = sign(a[i]);
    ab[i] = abs(a[i]);
    cl[i] = clamp(a[i], -1.0, 2.0);
    st[i] = step(0.5, a[i]);
    float whole;
    float rest = modf(a[i], whole);
    md[i] = whole == trunc(a[i]) ? whole + rest : 99.0;
}
