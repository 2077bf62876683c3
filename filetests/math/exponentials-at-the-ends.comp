// exp and exp2 where results leave the range of f32, and of what is no number; the least results are denormal, which may
// be flushed. Lanes, and one value for all of them.
//
// test run
// subgroup 4 16 32
// tolerance 8 ulp 1.2e-38 abs
// in 0.0 f32 [inf -inf 88.72 88.73 -87 -100 -103 -104.5 200 -200 0 -0 1 nan 127.99 -140]
// out 0.1 f32 [inf 0 3.3931805e38 inf 1.6458115e-38 0 0 0 inf 0 1 1 2.7182817 nan inf 0]
// out 0.2 f32 [inf 0 5.0977858e26 5.1332513e26 6.4623485e-27 7.888609e-31 9.8607613e-32 3.4863056e-32 inf 0 1 1 2 nan 3.3793136e38 0]
// out 0.3 f32 [inf 0 3.3931805e38 inf 1.6458115e-38 0 0 0 inf 0 1 1 2.7182817 nan inf 0]
#version 450
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer O1 { float e[]; };
layout(set = 0, binding = 2) buffer O2 { float t[]; };
layout(set = 0, binding = 3) buffer O3 { float u[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    e[i] = exp(a[i]);
    t[i] = exp2(a[i]);
    if (i == 0)
        for (int k = 0; k < 16; ++k)
            u[k] = exp(a[k]);
}
