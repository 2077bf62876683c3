// Components that are all treated alike, so that they can stay as memory has them: at the end of the object, in loops that
// invocations leave at different times, in branches, behind an early return, of other types, and where one is wanted alone.
//
// test run
// subgroup 4 16 32 64
// in 0.0 f32 gen 506 = i % 37 - 11
// in 0.1 i32 gen 256 = i * 7 % 23 - 9
// out 0.2 f32 gen 512 = i >= 506 ? 3 : i % 37 > 12 ? 2 * (i % 37) - 21 : 3
// out 0.3 f32 gen 256 = i % 37 - 11 + (div(i, 4) % 2 == 1 && i + 256 < 506 ? (i + 256) % 37 - 11 : 0)
// inout 0.4 f32 gen 256 = -100
// out 0.4 f32 gen 256 = div(i, 4) % 5 == 4 ? -100 : 3 * (i % 37) - 33
// out 0.5 f32 gen 64 = 3 * ((4 * i + 2) % 37 - 11) + 1
// out 0.6 i32 gen 256 = i % 37 < 11 ? 11 - i % 37 : i % 37 - 11
// out 0.7 f16 gen 256 = div(i, 4) % 3 == 0 ? 2 * (i % 37 - 11) : i % 37 - 11
// out 0.8 i32 gen 254 = (i * 7 % 23 - 9) * 5 + 2
// inout 0.9 f32 gen 256 = -100
// out 0.9 f32 gen 256 = i < 128 ? 2 * (i % 37 - 11) + (i * 7 % 23 - 9) : -100
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer Pairs { ivec2 pairs[]; };
layout(set = 0, binding = 1) readonly buffer Numbers { ivec4 numbers[]; };
layout(set = 0, binding = 2) buffer Edge { vec4 edge[]; };
layout(set = 0, binding = 3) buffer Sums { vec4 sums[]; };
layout(set = 0, binding = 4) buffer Some { vec4 some[]; };
layout(set = 0, binding = 5) buffer One { float one[]; };
layout(set = 0, binding = 6) buffer Whole { ivec4 whole[]; };
layout(set = 0, binding = 7) buffer Half { f16vec4 halves[]; };
layout(set = 0, binding = 8) buffer Cut { ivec2 cut[]; };
layout(set = 0, binding = 9) buffer Both { vec4 both[]; };

void main()
{
    uint l = gl_LocalInvocationIndex;
    for (uint i = l; i < 128; i += 64)
        edge[i] = max(x[i] * 2.0 + 1.0, 3.0);

    vec4 sum = vec4(0.0);
    for (uint i = l; i < 64 * (1 + l % 2); i += 64)
        sum += x[i];
    sums[l] = sum;

    vec4 tripled = x[l] * 3.0 + 1.0;
    one[l] = tripled.z;

    vec4 v = x[l];
    whole[l] = ivec4(mix(v, -v, lessThan(v, vec4(0.0))));
    if (l % 3 == 0)
        v *= 2.0;
    halves[l] = f16vec4(v);

    for (uint i = l; i < 128; i += 64)
        cut[i] = pairs[i] * 5 + 2;
    if (l < 32)
        both[l] = x[l] * 2.0 + vec4(numbers[l]);

    if (l % 5 == 4)
        return;
    some[l] = x[l] * 3.0;
}
