// Four lanes copy a row, four numbers each, and push constants say how far the rows are from each other in both buffers. All
// lanes of a row are one access; not so where a buffer ends within a row or within what a lane copies, or where only some of
// the lanes of a row do anything.
//
// test run
// keys S=4 T=4 L=32 M=4000 N=128
// subgroup 4 8 16 32 64
// push u32 [S T L]
// in 0.0 f32 ramp M 1 1
// inout 0.1 f32 fill N 0
// out 0.1 f32 gen N =
//   (div(i, T * 4) * 4 + div(i % (T * 4), 4) < L
//     ? (div(i % (T * 4), 4) < 4
//       ? ((div(i, T * 4) * S + div(i % (T * 4), 4)) * 4 + i % 4 < M
//         ? (div(i, T * 4) * S + div(i % (T * 4), 4)) * 4 + i % 4 + 1 : 0)
//       : 0)
//     : 0)
// case dense: S=4
// case apart: S=25 T=7 N=224
// case over-each-other: S=3
// case cut: S=25 T=7 M=312 N=150
// case cut-within-pieces: S=9 T=5 M=126 N=141
// case cut-after-the-first: S=25 T=7 M=3 N=2
// case some: S=25 T=7 L=18 N=224
// case some-cut: S=9 T=5 L=18 M=126 N=51
#version 450
layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint from_stride; uint to_stride; uint count; };
layout(set = 0, binding = 0) readonly buffer From { vec4 from[]; };
layout(set = 0, binding = 1) writeonly buffer To { vec4 to[]; };

void main()
{
    const uint lane = gl_LocalInvocationID.x;
    if (lane < count) {
        to[lane / 4 * to_stride + lane % 4] = from[lane / 4 * from_stride + lane % 4];
    }
}
