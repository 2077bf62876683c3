// Sums of products of vectors that loops add up: two rows at once, loops in loops, loops of different length in each
// invocation or of none at all, what is left over by another loop, sums that are looked at on the way or left in the midst
// of a loop, factors of halves, and sums whose order is fixed.
//
// test run
// subgroup 4 16 32 64
// in 0.0 f32 gen 1024 = i % 4 + 1
// in 0.1 f32 gen 1024 = div(i, 256) + 1
// in 0.2 f16 gen 1024 = div(i, 256) + i % 2
// in 0.3 u32 [0 1 4]
// out 0.4 f32 gen 64 = i % 2 == 1 ? 37 : 107
// out 0.5 f32 gen 64 = i % 2 == 1 ? 22 : 84
// out 0.6 f32 gen 64 = 103
// out 0.7 f32 gen 64 = i % 3 == 0 ? -1 : 130
// out 0.8 f32 gen 64 = i % 4 == 3 ? 60 : i % 4 == 2 ? 30 : i % 4 == 1 ? 10 : 0
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer Y { vec4 y[]; };
layout(set = 0, binding = 2) readonly buffer Z { f16vec4 z[]; };
layout(set = 0, binding = 3) readonly buffer N { uint n[]; };
layout(set = 0, binding = 4) buffer First { float first[]; };
layout(set = 0, binding = 5) buffer Second { float second[]; };
layout(set = 0, binding = 6) buffer Nested { float nested[]; };
layout(set = 0, binding = 7) buffer Left { float left[]; };
layout(set = 0, binding = 8) buffer Fixed { float fixedOrder[]; };

void main()
{
    uint l = gl_LocalInvocationIndex;

    // Two sums in one loop, whose length differs.
    float sums[2] = float[2](7.0, 0.0);
    for (uint i = l; i < (l % 2 == 1 ? 128 : 256); i += 64) {
        vec4 v = x[i];
        sums[0] += dot(y[i], v);
        sums[1] += dot(vec4(z[i]), v);
    }
    first[l] = sums[0];
    second[l] = sums[1];

    // A loop in a loop, then loops of one round and of none.
    float sum = 3.0;
    for (uint r = 0; r < 2; ++r)
        for (uint i = 0; i < n[1] + 1; ++i)
            sum += dot(x[(2 * r + i) * 64 + l], y[(2 * r + i) * 64 + l]);
    for (uint i = 0; i < n[0]; ++i)
        sum += dot(x[i * 64 + l], y[i * 64 + l]);
    nested[l] = sum;

    // The order is fixed, and each invocation does as many rounds as it likes.
    precise float kept = 0.0;
    for (uint i = 0; i < l % 4; ++i)
        kept += dot(x[i * 64 + l], y[i * 64 + l]);
    fixedOrder[l] = kept;

    // Looked at in each round, and some invocations leave in the midst.
    left[l] = -1.0;
    float seen = 0.0;
    float last = 0.0;
    for (uint i = 0; i < n[2]; ++i) {
        seen += dot(x[i * 64 + l], y[i * 64 + l]);
        last = max(last, seen);
        if (l % 3 == 0 && i == 2)
            return;
    }
    sum = 0.0;
    for (uint i = 0; i < n[2]; ++i) {
        sum += dot(x[i * 64 + l], y[i * 64 + l]);
        if (i == 1)
            break;
    }
    left[l] = last + sum;
}
