// Two rows of halves for each work-group, times a vector: loops that go on from one work-group to the next. Lanes read four
// halves as two pairs, one by one, or none where rows are no multiple of what all lanes read; buffers end within rows.
//
// test run
// keys K=256 R=6 N=R*K
// subgroup 32 16 64
// dispatch 3 1 1
// push u32 [K]
// in 0.0 f16 gen N = div(i, K) % 16 + i % 4
// in 0.1 f32 gen K = 1 + i % 2
// out 0.2 f32 gen R = (N < i * K ? 0 : N < i * K + K ? div(N - i * K, 4) : div(K, 4)) * (6 * i + 10)
// out 0.3 f32 gen R = (N < i * K ? 0 : N < i * K + K ? div(N - i * K, 4) : div(K, 4)) * (6 * i + 10)
// case aligned: K=256
// case long-rows: K=4096
// case part-of-rows: K=68
// case short-rows: K=4
// case cut: N=700
// case cut-long-rows: K=4096 N=20004
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint k; };
layout(set = 0, binding = 0) readonly buffer Pairs { f16vec2 pairs[]; };
layout(set = 0, binding = 0) readonly buffer Halves { float16_t halves[]; };
layout(set = 0, binding = 1) readonly buffer Vector { vec4 x[]; };
layout(set = 0, binding = 2) buffer Paired { float paired[]; };
layout(set = 0, binding = 3) buffer Single { float single[]; };

shared float sums[4][64];

vec2 by_pairs(uint row, uint col)
{
    vec2 sum = vec2(0);
    for (uint n = 0; n < 2; ++n) {
        uint at = ((row + n) * k + col) / 2;
        vec4 a = vec4(pairs[at], pairs[at + 1]);
        sum[n] = dot(a, x[col / 4]);
    }
    return sum;
}

vec2 one_by_one(uint row, uint col)
{
    vec2 sum = vec2(0);
    for (uint n = 0; n < 2; ++n) {
        uint at = (row + n) * k + col;
        vec4 a = vec4(halves[at], halves[at + 1], halves[at + 2], halves[at + 3]);
        sum[n] = dot(a, x[col / 4]);
    }
    return sum;
}

void main()
{
    uint lane = gl_LocalInvocationID.x;
    uint row = 2 * gl_WorkGroupID.x;
    uint rounds = k / 256;
    if (rounds * 256 + 4 * lane < k)
        ++rounds;
    vec2 two = vec2(0), one = vec2(0);
    for (uint i = 0; i < rounds; ++i) {
        two += by_pairs(row, 256 * i + 4 * lane);
        one += one_by_one(row, 256 * i + 4 * lane);
    }
    sums[0][lane] = two.x;
    sums[1][lane] = two.y;
    sums[2][lane] = one.x;
    sums[3][lane] = one.y;
    barrier();
    if (lane < 4) {
        float sum = 0;
        for (uint i = 0; i < 64; ++i)
            sum += sums[lane][i];
        if (lane < 2)
            paired[row + lane] = sum;
        else
            single[row + lane - 2] = sum;
    }
}
