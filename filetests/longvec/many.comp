// More whole vectors one after the other than there would be room for at once.
//
// test run
// subgroup 8
// in 0.0 f32 gen 4096 = i%1024
// out 0.1 f32 gen 4096 = (i%1024)*129+128
#version 460
#extension GL_EXT_long_vector : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 4) in;
#define V vector<float, 1024>
layout(set = 0, binding = 0, scalar) readonly buffer In { V a[]; };
layout(set = 0, binding = 1, scalar) buffer Out { V b[]; };

#define TWICE(x) x x
#define ADD sum = sum + (x + one);

void main()
{
    V x = a[gl_LocalInvocationIndex], sum = x, one = V(1.0);
    TWICE(TWICE(TWICE(TWICE(TWICE(TWICE(TWICE(ADD)))))))
    b[gl_LocalInvocationIndex] = sum;
}
