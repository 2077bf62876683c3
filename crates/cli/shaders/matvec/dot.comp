// Matrix times vectors in plain subgroup code, by dot products of bytes: the vectors are in blocks of 32 bytes with a scale,
// as the matrix is, and only scales are multiplied in f32.
//
// A subgroup computes ROWS rows. Four lanes share a block, eight weights each, and the lanes' sums are added at the end.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_integer_dot_product : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 16;
layout(constant_id = 1) const uint ROWS = 4;
layout(constant_id = 2) const uint COLUMNS = 1;
layout(push_constant) uniform Sizes { uint m; uint k; };

#if defined(BLOCK_Q4_0)
struct Block { float16_t scale; uint16_t weights[8]; };
#else
struct Block { float16_t scale; uint16_t weights[16]; };
#endif
layout(set = 0, binding = 0) readonly buffer Matrix { Block blocks[]; };
// The bytes that a part of a block is multiplied by, in the order of its weights.
layout(set = 0, binding = 1) readonly buffer Vectors { ivec2 x[]; };
// The scale of 32 bytes, and the sum of what they stand for: what weights of 4 bits are too large by, divided by 8.
layout(set = 0, binding = 2) readonly buffer Scales { vec2 scales[]; };
layout(set = 0, binding = 3) writeonly buffer Result { float y[]; };

// The weights of a part of a block, by fours.
#if defined(BLOCK_Q4_0)
ivec2 decode(uint block, uint part)
{
    const int both = int(blocks[block].weights[2 * part]) | int(blocks[block].weights[2 * part + 1]) << 16;
    return ivec2(both, both >> 4) & 0x0f0f0f0f;
}
// What they are too large by is a quarter of it in each of the four lanes that share a block.
const float OFFSET = 8.0 / 4.0;
float scaled(float sum, vec2 s)
{
    return s.x * sum - s.y;
}
#else
ivec2 decode(uint block, uint part)
{
    return ivec2(int(blocks[block].weights[4 * part]) | int(blocks[block].weights[4 * part + 1]) << 16,
                 int(blocks[block].weights[4 * part + 2]) | int(blocks[block].weights[4 * part + 3]) << 16);
}
const float OFFSET = 0.0;
float scaled(float sum, vec2 s)
{
    return s.x * sum;
}
#endif

void main()
{
    const uint row = ROWS * gl_WorkGroupID.x;
    const uint lane = gl_SubgroupInvocationID;
    float sums[ROWS][COLUMNS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r)
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
            sums[r][c] = 0.0;

    for (uint col = 8 * lane; col < k; col += 8 * LANES) {
        const uint part = col % 32 / 8;
        ivec2 bytes[COLUMNS];
        vec2 s[COLUMNS];
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
            bytes[c] = x[(c * k + col) / 8];
            s[c] = vec2(1.0, OFFSET) * scales[c * (k / 32) + col / 32];
        }
        [[unroll]] for (uint r = 0; r < ROWS; ++r) {
            const uint block = ((row + r) * k + col) / 32;
            const ivec2 weights = decode(block, part);
            const float factor = float(blocks[block].scale);
            [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
                const int sum = dotPacked4x8EXT(weights.x, bytes[c].x) + dotPacked4x8EXT(weights.y, bytes[c].y);
                sums[r][c] += factor * scaled(float(sum), s[c]);
            }
        }
    }

    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
            const float sum = subgroupAdd(sums[r][c]);
            if (subgroupElect() && row + r < m)
                y[(row + r) * COLUMNS + c] = sum;
        }
    }
}
