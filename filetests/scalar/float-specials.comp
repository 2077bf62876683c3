// Infinities, zeros of both signs and denormals in f32: arithmetic, comparison, minima. NaNs are compared as NaNs.
//
// test run
// in 0.0 f32 [1 -1 0 -0.0 inf -inf 1e38 1e-38]
// in 0.1 f32 [0 0 0 inf inf 1 1e38 1e-38]
// out 0.2 f32 [1 -1 0 inf inf -inf 2e38 1.9999999e-38]
// out 0.3 f32 [0 -0.0 0 nan inf -inf inf 0]
// out 0.4 f32 [inf -inf nan 0 nan -inf 1 1]
// out 0.5 i32 [0 1 0 1 0 1 0 0]
// out 0.6 i32 [0 0 1 0 1 0 1 1]
// out 0.7 i32 [0 0 1 0 1 0 0 0]
// out 0.8 i32 [0 0 0 0 1 1 0 0]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer InA { float a[]; };
layout(set = 0, binding = 1) readonly buffer InB { float b[]; };
layout(set = 0, binding = 2) buffer O2 { float add[]; };
layout(set = 0, binding = 3) buffer O3 { float mul[]; };
layout(set = 0, binding = 4) buffer O4 { float div[]; };
layout(set = 0, binding = 5) buffer O5 { int less[]; };
layout(set = 0, binding = 6) buffer O6 { int equal[]; };
layout(set = 0, binding = 7) buffer O7 { int nan[]; };
layout(set = 0, binding = 8) buffer O8 { int inf[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    add[i] = a[i] + b[i];
    mul[i] = a[i] * b[i];
    div[i] = a[i] / b[i];
    less[i] = int(a[i] < b[i]);
    equal[i] = int(a[i] == b[i]);
    nan[i] = int(isnan(a[i] / b[i]));
    inf[i] = int(isinf(a[i]));
}
