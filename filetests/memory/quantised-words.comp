// Words of packed weights, read by halves from blocks that are no multiple of a word long, and what kernels make of them:
// dot products of bytes that a mask leaves without a sign, added to something, and numbers of four bits as floats.
// Where the buffer ends within what a subgroup reads, and within a word.
//
// test run
// keys N=4000
// subgroup 8 16 32 64
// in 0.0 u16 ramp N 1 1
// out 0.1 u32 gen 64 = (div(i, 2) * 5 + 1 + i % 2 * 2 < N ? div(i, 2) * 5 + 2 + i % 2 * 2 : 0)
//   + (div(i, 2) * 5 + 2 + i % 2 * 2 < N ? div(i, 2) * 5 + 3 + i % 2 * 2 : 0) * 65536
// out 0.2 i32 gen 64 = (div(i, 2) * 5 + 1 + i % 2 * 2 < N ? div(i, 2) * 5 + 2 + i % 2 * 2 : 0) % 16 * 2
//   - (div(i, 2) * 5 + 2 + i % 2 * 2 < N ? div(i, 2) * 5 + 3 + i % 2 * 2 : 0) % 16 * 128 + i
// out 0.3 f32 gen 64 = div((div(i, 2) * 5 + 1 + i % 2 * 2 < N ? div(i, 2) * 5 + 2 + i % 2 * 2 : 0), 16) % 16 - 8
// case whole: N=4000
// case cut: N=100
// case within-word: N=97
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_integer_dot_product : require
layout(local_size_x = 64) in;
struct Block { uint16_t scale; uint16_t weights[4]; };
layout(set = 0, binding = 0) readonly buffer Blocks { Block blocks[]; };
layout(set = 0, binding = 1) writeonly buffer Words { uint words[]; };
layout(set = 0, binding = 2) writeonly buffer Sums { int sums[]; };
layout(set = 0, binding = 3) writeonly buffer Numbers { float numbers[]; };

void main()
{
    const uint lane = gl_LocalInvocationID.x;
    const uint block = lane / 2, part = lane % 2;
    const uint low = blocks[block].weights[2 * part], high = blocks[block].weights[2 * part + 1];
    const uint word = low | high << 16;
    words[lane] = word;
    // Factors 2, 0, -128 and 0, of the lowest byte first.
    sums[lane] = dotPacked4x8EXT(int(word & 0x0f0f0f0f), int(0x00800002)) + int(lane);
    numbers[lane] = float(word >> 4 & 15) - 8.0;
}
