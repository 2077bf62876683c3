// Halves that are the same in all invocations: their minima and maxima, signs and reductions are nobody's functions.
//
// test run
// subgroup 4 32
// isa all
// in 0.0 f16 [2.5 -0.75 0.5 -1 3 -4 1 0.25]
// out 0.1 f16 [2.5 0 1 2.5 0 -0.75 0 0  0.5 -2.5 1 -1 3 -4 0.25 0]
#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_EXT_shader_subgroup_extended_types_float16 : enable

layout(local_size_x = 4) in;
layout(set = 0, binding = 0) readonly buffer In { float16_t a[]; };
layout(set = 0, binding = 1) buffer Out { float16_t r[]; };

void main()
{
    const uint group = gl_WorkGroupID.x;
    const float16_t u = a[group], v = a[group + 1], w = a[group + 3], zero = 0.0hf, one = 1.0hf;
    r[0] = max(u, zero);
    r[1] = min(u, zero);
    r[2] = clamp(u, zero, one);
    r[3] = u > zero ? u : zero;
    r[4] = max(v, zero);
    r[5] = min(zero, v);
    r[6] = clamp(v, zero, one);
    r[7] = v > zero ? v : zero;
    r[8] = smoothstep(zero, one, a[group + 2]);
    r[9] = -u;
    r[10] = faceforward(f16vec2(one, u), f16vec2(u, v), f16vec2(w, one)).x;
    r[11] = faceforward(one, u, u);
    const float16_t x = a[4 + gl_LocalInvocationIndex];
    r[12] = subgroupMax(x);
    r[13] = subgroupMin(x);
    r[14] = subgroupAdd(x);
    r[15] = max(-abs(subgroupAdd(x)), zero);
}
