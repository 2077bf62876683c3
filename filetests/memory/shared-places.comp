// A plane of invocations: each reads four numbers that belong to its column and one that belongs to its row, and all read
// four of each round. Push constants say how far columns and rows are from each other. Buffers end within what is read
// together, and the first columns and rows do nothing, whose lanes could stand for the others.
//
// test run
// keys S=2 T=2 F=0 G=0 M=64 R=16 W=8
// subgroup 4 8 16 32 64
// push u32 [S T F G 2]
// in 0.0 i32 gen M = i % 7 + 1
// in 0.1 i32 gen R = i % 5 + 1
// in 0.2 i32 gen W = i + 1
// inout 0.3 i32 fill 256 -1
// out 0.3 i32 gen 256 = div(i, 4) % 8 < F ? -1 : div(i, 32) < G ? -1 :
//   ((div(i, 4) % 8 * S) * 4 + i % 4 < M ? ((div(i, 4) % 8 * S) * 4 + i % 4) % 7 + 1 : 0)
//     * (div(i, 32) * T < R ? div(i, 32) * T % 5 + 1 : 0)
//   + ((div(i, 4) % 8 * S + 1) * 4 + i % 4 < M ? ((div(i, 4) % 8 * S + 1) * 4 + i % 4) % 7 + 1 : 0)
//     * (div(i, 32) * T + 1 < R ? (div(i, 32) * T + 1) % 5 + 1 : 0)
//   + (i % 4 < W ? i % 4 + 1 : 0) + (i % 4 + 4 < W ? i % 4 + 5 : 0)
// in 0.4 f16 gen M = i % 7 + 1
// in 0.5 f16 gen R = i % 5 + 1
// in 0.6 f16 gen W = i + 1
// inout 0.7 f16 fill 256 -1
// out 0.7 f16 gen 256 = div(i, 4) % 8 < F ? -1 : div(i, 32) < G ? -1 :
//   ((div(i, 4) % 8 * S) * 4 + i % 4 < M ? ((div(i, 4) % 8 * S) * 4 + i % 4) % 7 + 1 : 0)
//     * (div(i, 32) * T < R ? div(i, 32) * T % 5 + 1 : 0)
//   + ((div(i, 4) % 8 * S + 1) * 4 + i % 4 < M ? ((div(i, 4) % 8 * S + 1) * 4 + i % 4) % 7 + 1 : 0)
//     * (div(i, 32) * T + 1 < R ? (div(i, 32) * T + 1) % 5 + 1 : 0)
//   + (i % 4 < W ? i % 4 + 1 : 0) + (i % 4 + 4 < W ? i % 4 + 5 : 0)
// case all: S=2
// case one-place: S=0 T=0
// case some: F=3 G=5
// case some-rows: G=1
// case cut: M=41 R=13 W=5
// case cut-within-the-first: M=3 R=1 W=2
// case cut-some: F=1 G=2 M=54 R=6 W=7
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Push { uint column_stride; uint row_stride; uint first_column; uint first_row; uint rounds; };
layout(set = 0, binding = 0) readonly buffer Columns { ivec4 columns[]; };
layout(set = 0, binding = 1) readonly buffer Rows { int rows[]; };
layout(set = 0, binding = 2) readonly buffer Rounds { ivec4 of_round[]; };
layout(set = 0, binding = 3) buffer Sums { ivec4 sums[]; };
layout(set = 0, binding = 4) readonly buffer HalfColumns { f16vec4 half_columns[]; };
layout(set = 0, binding = 5) readonly buffer HalfRows { float16_t half_rows[]; };
layout(set = 0, binding = 6) readonly buffer HalfRounds { f16vec4 half_of_round[]; };
layout(set = 0, binding = 7) buffer HalfSums { f16vec4 half_sums[]; };

void main()
{
    uint x = gl_GlobalInvocationID.x;
    uint y = gl_GlobalInvocationID.y;
    if (x < first_column || y < first_row)
        return;
    ivec4 sum = ivec4(0);
    f16vec4 half_sum = f16vec4(0);
    for (uint k = 0; k < rounds; ++k) {
        sum += columns[x * column_stride + k] * rows[y * row_stride + k] + of_round[k];
        half_sum += half_columns[x * column_stride + k] * half_rows[y * row_stride + k] + half_of_round[k];
    }
    sums[8 * y + x] = sum;
    half_sums[8 * y + x] = half_sum;
}
