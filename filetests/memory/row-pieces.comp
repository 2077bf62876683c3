// Eight lanes read a row in a loop, four numbers each, and the rows are as far from each other as a push constant says: so far
// as they are long, farther, and so that a row ends within what another one begins. Where the buffer ends within a row, and
// within what a lane reads.
//
// test run
// keys S=32 M=4000
// subgroup 8 16 32 64
// push u32 [S]
// in 0.0 f32 ramp M 0 1
// out 0.1 f32 gen 64 =
//   (div((div(i, 32) * 4 + div(i % 32, 8)) * S + i % 8 * 4, 4) * 4 < M
//     ? div((div(i, 32) * 4 + div(i % 32, 8)) * S + i % 8 * 4, 4) * 4 : 0)
//   + (div((div(i, 32) * 4 + div(i % 32, 8)) * S + i % 8 * 4, 4) * 4 + 3 < M
//     ? div((div(i, 32) * 4 + div(i % 32, 8)) * S + i % 8 * 4, 4) * 4 + 3 : 0)
// case dense: S=32
// case apart: S=100
// case over-each-other: S=12
// case cut: S=100 M=312
// case cut-within-pieces: S=36 M=126
#version 450
layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint stride; };
layout(set = 0, binding = 0) readonly buffer Rows { vec4 rows[]; };
layout(set = 0, binding = 1) writeonly buffer Sums { float sums[]; };

void main()
{
    const uint lane = gl_LocalInvocationID.x;
    for (uint round = 0; round < 2; ++round) {
        const vec4 x = rows[((round * 4 + lane / 8) * stride + lane % 8 * 4) / 4];
        sums[round * 32 + lane] = x.x + x.w;
    }
}
