// Blocks of a scale and packed weights, as lanes of a subgroup share them: four lanes read one block, each its own part.
// Where rows are a multiple of blocks long, and where they are not; where the buffers end within what a subgroup reads.
//
// test run
// keys K=256 N=4000 M=4000
// subgroup 8 16 32 64
// push u32 [K]
// in 0.0 u16 ramp N 1 1
// in 0.1 f32 ramp M 0 1
// out 0.2 u32 gen 96 = div(i % 32 * 4 + div(i, 32) * K, 16) * 5 < N ? div(i % 32 * 4 + div(i, 32) * K, 16) * 5 + 1 : 0
// out 0.3 u32 gen 96 = div(i % 32 * 4 + div(i, 32) * K, 16) * 5 + 1 + i % 4 < N
//   ? div(i % 32 * 4 + div(i, 32) * K, 16) * 5 + 2 + i % 4 : 0
// out 0.4 f32 gen 96 = (div(div(i, 32) * K, 4) + div(i % 32, 4) * 8 + i % 4) * 4 + 3 < M
//   ? (div(div(i, 32) * K, 4) + div(i % 32, 4) * 8 + i % 4) * 4 + 3 : 0
// out 0.5 u32 gen 96 = div(i % 32, 4) * 10 + 6 + i % 4 < N ? div(i % 32, 4) * 10 + 6 + i % 4 + 1 : 0
// case aligned: K=256
// case short-rows: K=4
// case odd-rows: K=36
// case cut: N=100 M=150
// case cut-odd-rows: K=36 N=21 M=90
// case all-outside: K=1073741824
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint k; };
struct Block { uint16_t scale; uint16_t weights[4]; };
layout(set = 0, binding = 0) readonly buffer Blocks { Block blocks[]; };
layout(set = 0, binding = 1) readonly buffer Vector { vec4 x[]; };
layout(set = 0, binding = 2) writeonly buffer Scales { uint scales[]; };
layout(set = 0, binding = 3) writeonly buffer Weights { uint weights[]; };
layout(set = 0, binding = 4) writeonly buffer Factors { float factors[]; };
layout(set = 0, binding = 5) writeonly buffer Others { uint others[]; };

void main()
{
    uint lane = gl_LocalInvocationID.x;
    uint col = 4 * lane;
    for (uint row = 0; row < 3; ++row) {
        uint block = (row * k + col) / 16;
        uint part = (col % 16) / 4;
        scales[row * 32 + lane] = blocks[block].scale;
        weights[row * 32 + lane] = blocks[block].weights[part];
        factors[row * 32 + lane] = x[(row * k + 2 * (col - col % 16) + col % 16) / 4].w;
        // The second block of each lane's, whatever the row.
        others[row * 32 + lane] = blocks[(col >> 4) << 1 | 1].weights[lane & 3];
    }
}
