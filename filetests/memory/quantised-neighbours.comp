// Parts of one block, read by lanes that share it: a scale and two weights, two halves and words of both parts.
// What is read of the same blocks is read together, and halves are converted before they are brought to their lanes. As
// numbers below the normal ones the halves count what their bits say. Where the buffers end within what a subgroup reads, and
// within a word.
//
// test run
// keys N=4000 M=4000
// subgroup 8 16 32 64
// in 0.0 u16 ramp N 1 1
// in 0.1 u16 ramp M 1 1
// out 0.2 f32 gen 64 = div(i, 4) * 5 < N ? div(i, 4) * 5 + 1 : 0
// out 0.3 u32 gen 64 = div(i, 4) * 5 + 1 + i % 4 < N ? div(i, 4) * 5 + 2 + i % 4 : 0
// out 0.4 f32 gen 64 = (div(i, 4) * 18 < M ? div(i, 4) * 18 + 1 : 0)
//   + (div(i, 4) * 18 + 1 < M ? div(i, 4) * 18 + 2 : 0) * 1024
// out 0.5 u32 gen 64 = div(i, 4) * 18 + 3 + i % 4 * 2 < M
//   ? div(i, 4) * 18 + 3 + i % 4 * 2 + (div(i, 4) * 18 + 4 + i % 4 * 2) * 65536 : 0
// out 0.6 u32 gen 64 = div(i, 4) * 18 + 11 + i % 4 * 2 < M
//   ? div(i, 4) * 18 + 11 + i % 4 * 2 + (div(i, 4) * 18 + 12 + i % 4 * 2) * 65536 : 0
// out 0.7 u32 gen 64 = div(i, 4) * 5 + 4 - i % 4 < N ? div(i, 4) * 5 + 5 - i % 4 : 0
// case whole: N=4000
// case cut: N=33 M=100
// case cut-between-parts: N=35 M=116
// case nothing: N=1 M=2
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(local_size_x = 64) in;
struct Short { float16_t scale; uint16_t weights[4]; };
struct Long { f16vec2 scales; uint words[8]; };
layout(set = 0, binding = 0) readonly buffer Shorts { Short shorts[]; };
layout(set = 0, binding = 1) readonly buffer Longs { Long longs[]; };
layout(set = 0, binding = 2) writeonly buffer Scales { float scales[]; };
layout(set = 0, binding = 3) writeonly buffer Weights { uint weights[]; };
layout(set = 0, binding = 4) writeonly buffer Sums { float sums[]; };
layout(set = 0, binding = 5) writeonly buffer Firsts { uint firsts[]; };
layout(set = 0, binding = 6) writeonly buffer Seconds { uint seconds[]; };
layout(set = 0, binding = 7) writeonly buffer Mirrored { uint mirrored[]; };

void main()
{
    const uint lane = gl_LocalInvocationID.x;
    const uint block = lane / 4, part = lane % 4;
    const uint weight = shorts[block].weights[part];
    const uint other = shorts[block].weights[3 - part];
    const float scale = float(shorts[block].scale);
    const vec2 pair = vec2(longs[block].scales);
    const uint first = longs[block].words[part], second = longs[block].words[part + 4];
    scales[lane] = scale * 16777216.0;
    weights[lane] = weight;
    mirrored[lane] = other;
    sums[lane] = pair.x * 16777216.0 + pair.y * 16777216.0 * 1024.0;
    firsts[lane] = first;
    seconds[lane] = second;
}
