// Pairs of words of packed weights, read by halves from blocks that are no multiple of a word long, and the sums of their
// dot products, whose factors both have signs. Where the buffer ends within what a subgroup reads, and within a pair.
//
// test run
// keys N=4000
// subgroup 8 16 32 64
// in 0.0 u16 ramp N 1 1
// out 0.1 i32 gen 64 = (((div(i, 4) * 17 + i % 4 * 4 + 1) < N ? (div(i, 4) * 17 + i % 4 * 4 + 1) + 1 : 0) % 256 < 128 ? ((div(i, 4) * 17 + i % 4 * 4 + 1) < N ? (div(i, 4) * 17 + i % 4 * 4 + 1) + 1 : 0) % 256 : ((div(i, 4) * 17 + i % 4 * 4 + 1) < N ? (div(i, 4) * 17 + i % 4 * 4 + 1) + 1 : 0) % 256 - 256) * 2
//   - (((div(i, 4) * 17 + i % 4 * 4 + 2) < N ? (div(i, 4) * 17 + i % 4 * 4 + 2) + 1 : 0) % 256 < 128 ? ((div(i, 4) * 17 + i % 4 * 4 + 2) < N ? (div(i, 4) * 17 + i % 4 * 4 + 2) + 1 : 0) % 256 : ((div(i, 4) * 17 + i % 4 * 4 + 2) < N ? (div(i, 4) * 17 + i % 4 * 4 + 2) + 1 : 0) % 256 - 256) * 128
//   + (((div(i, 4) * 17 + i % 4 * 4 + 3) < N ? (div(i, 4) * 17 + i % 4 * 4 + 3) + 1 : 0) % 256 < 128 ? ((div(i, 4) * 17 + i % 4 * 4 + 3) < N ? (div(i, 4) * 17 + i % 4 * 4 + 3) + 1 : 0) % 256 : ((div(i, 4) * 17 + i % 4 * 4 + 3) < N ? (div(i, 4) * 17 + i % 4 * 4 + 3) + 1 : 0) % 256 - 256) * 3
// out 0.2 u32 gen 64 = ((div(i, 4) * 17 + i % 4 * 4 + 3) < N ? (div(i, 4) * 17 + i % 4 * 4 + 3) + 1 : 0) + ((div(i, 4) * 17 + i % 4 * 4 + 4) < N ? (div(i, 4) * 17 + i % 4 * 4 + 4) + 1 : 0) * 65536
// case whole: N=4000
// case cut: N=100
// case within-pair: N=97
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_integer_dot_product : require
layout(local_size_x = 64) in;
struct Block { uint16_t scale; uint16_t weights[16]; };
layout(set = 0, binding = 0) readonly buffer Blocks { Block blocks[]; };
layout(set = 0, binding = 1) writeonly buffer Sums { int sums[]; };
layout(set = 0, binding = 2) writeonly buffer Words { uint words[]; };

int word(uint block, uint first)
{
    return int(blocks[block].weights[first]) | int(blocks[block].weights[first + 1]) << 16;
}

void main()
{
    const uint lane = gl_LocalInvocationID.x;
    const uint block = lane / 4, part = lane % 4;
    const ivec2 pair = ivec2(word(block, 4 * part), word(block, 4 * part + 2));
    // Factors 2, 0, -128 and 0, of the lowest byte first; then 3 for the lowest byte.
    sums[lane] = dotPacked4x8EXT(pair.x, int(0x00800002)) + dotPacked4x8EXT(pair.y, 3);
    words[lane] = pair.y;
}
