// frexp gives a significand from 0.5 to 1 and an exponent, ldexp puts them together again.
//
// test run
// subgroup 4 32
// in 0.0 f32 [1 -6.5 0 1024 0.75 1e-3 3 -0.1]
// tolerance exact
// out 0.1 f32 [0.5 -0.8125 0 0.5 0.75 0.512 0.75 -0.8]
// out 0.2 i32 [1 3 0 11 0 -9 2 -3]
// out 0.3 f32 [1 -6.5 0 1024 0.75 1e-3 3 -0.1]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer O1 { float s[]; };
layout(set = 0, binding = 2) buffer O2 { int e[]; };
layout(set = 0, binding = 3) buffer O3 { float back[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    s[i] = frexp(a[i], e[i]);
    back[i] = ldexp(s[i], e[i]);
}
