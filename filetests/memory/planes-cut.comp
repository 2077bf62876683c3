// A plane of invocations writes vectors of several sizes to rows whose distance is known, and to rows whose distance push
// constants say. Those outside of a smaller plane have returned, and buffers end within what is written together.
//
// test run
// keys W=11 L=8 H=8 N=88
// subgroup 4 8 16 32 64
// push u32 [W L H]
// inout 0.0 f32 fill 4*N 0
// out 0.0 f32 gen 4*N = div(i, 4) % 11 < L ? div(i, 4) % 11 < 8 ? div(i, 44) < H ? div(i, 44) < 8 ? i + 1 : 0 : 0 : 0 : 0
// inout 0.1 i32 fill 2*N 0
// out 0.1 i32 gen 2*N = div(i, 2) % 11 < L ? div(i, 2) % 11 < 8 ? div(i, 22) < H ? div(i, 22) < 8 ? i + 1 : 0 : 0 : 0 : 0
// inout 0.2 f16 fill 4*N 0
// out 0.2 f16 gen 4*N = div(i, 4) % W < L ? div(i, 4) % W < 8 ? div(i, 4 * W) < H ? div(i, 4 * W) < 8 ? i + 1 : 0 : 0 : 0 : 0
// inout 0.3 u32 fill N 0
// out 0.3 u32 gen N = i % W < L ? i % W < 8 ? div(i, W) < H ? div(i, W) < 8 ? i + 1 : 0 : 0 : 0 : 0
// inout 0.4 f16 fill N 0
// out 0.4 f16 gen N = i % 11 < L ? i % 11 < 8 ? div(i, 11) < H ? div(i, 11) < 8 ? i + 1 : 0 : 0 : 0 : 0
// case all: W=11
// case apart: W=13 N=104
// case narrow: L=5
// case low: H=6
// case corner: W=9 L=7 H=3
// case cut: N=43
// case cut-corner: W=9 L=7 H=6 N=51
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Push { uint stride; uint columns; uint rows; };
layout(set = 0, binding = 0) buffer Fours { vec4 fours[]; };
layout(set = 0, binding = 1) buffer Pairs { ivec2 pairs[]; };
layout(set = 0, binding = 2) buffer Halves { f16vec4 halves[]; };
layout(set = 0, binding = 3) buffer Words { uint words[]; };
layout(set = 0, binding = 4) buffer Single { float16_t single[]; };

void main()
{
    uint x = gl_GlobalInvocationID.x;
    uint y = gl_GlobalInvocationID.y;
    if (x >= columns || y >= rows)
        return;
    uint known = 11 * y + x;
    uint told = stride * y + x;
    fours[known] = vec4(4 * known) + vec4(1, 2, 3, 4);
    pairs[known] = ivec2(2 * known) + ivec2(1, 2);
    halves[told] = f16vec4(vec4(4 * told) + vec4(1, 2, 3, 4));
    words[told] = told + 1;
    single[known] = float16_t(float(known + 1));
}
