// Matrix times vectors in plain subgroup code: the matrix is in blocks of 32 weights, and everything is multiplied in f32.
//
// A subgroup computes ROWS rows. Four lanes share a block, eight weights each, and the lanes' sums are added at the end.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint LANES = 16;
layout(constant_id = 1) const uint ROWS = 4;
layout(constant_id = 2) const uint COLUMNS = 1;
layout(push_constant) uniform Sizes { uint m; uint k; };

#if defined(BLOCK_Q4_0)
struct Block { float16_t scale; uint16_t weights[8]; };
#elif defined(BLOCK_Q8_0)
struct Block { float16_t scale; uint16_t weights[16]; };
#else
struct Block { f16vec4 weights[8]; };
#endif
layout(set = 0, binding = 0) readonly buffer Matrix { Block blocks[]; };
layout(set = 0, binding = 1) readonly buffer Vectors { vec4 x[]; };
layout(set = 0, binding = 2) writeonly buffer Result { float y[]; };

// Four of the eight weights of a part of a block, and where the second four are: those of nibbles are half a block away.
#if defined(BLOCK_Q4_0)
const uint FIRST = 1, APART = 4;
vec4 decode(uint block, uint part, uint second)
{
    const uint a = uint(blocks[block].weights[2 * part]) >> 4 * second;
    const uint b = uint(blocks[block].weights[2 * part + 1]) >> 4 * second;
    return vec4(a & 15, a >> 8 & 15, b & 15, b >> 8 & 15) - 8.0;
}
#elif defined(BLOCK_Q8_0)
const uint FIRST = 2, APART = 1;
vec4 decode(uint block, uint part, uint second)
{
    const uint a = blocks[block].weights[4 * part + 2 * second], b = blocks[block].weights[4 * part + 2 * second + 1];
    const ivec4 bytes = ivec4(a << 24, a << 16, b << 24, b << 16);
    return vec4(bytes >> 24);
}
#else
const uint FIRST = 2, APART = 1;
vec4 decode(uint block, uint part, uint second)
{
    return vec4(blocks[block].weights[2 * part + second]);
}
#endif

void decode(uint block, uint part, out vec4 low, out vec4 high)
{
#if defined(BLOCK_Q4_0)
    const uint a = blocks[block].weights[2 * part], b = blocks[block].weights[2 * part + 1];
    low = vec4(a & 15, a >> 8 & 15, b & 15, b >> 8 & 15) - 8.0;
    high = vec4(a >> 4 & 15, a >> 12 & 15, b >> 4 & 15, b >> 12 & 15) - 8.0;
#else
    low = decode(block, part, 0);
    high = decode(block, part, 1);
#endif
}

// One chain, where two dot products would be added.
float dot8(vec4 a, vec4 x, vec4 b, vec4 y)
{
    return fma(b.w, y.w, fma(b.z, y.z, fma(b.y, y.y, fma(b.x, y.x, dot(a, x)))));
}

float scale(uint block)
{
#if defined(BLOCK_Q4_0) || defined(BLOCK_Q8_0)
    return float(blocks[block].scale);
#else
    return 1.0;
#endif
}

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
        const uint at = (col - col % 32) / 4 + FIRST * part;
        if (COLUMNS <= 2) {
            vec4 low[COLUMNS], high[COLUMNS];
            [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
                low[c] = x[c * (k / 4) + at];
                high[c] = x[c * (k / 4) + at + APART];
            }
            [[unroll]] for (uint r = 0; r < ROWS; ++r) {
                const uint block = ((row + r) * k + col) / 32;
                vec4 a, b;
                decode(block, part, a, b);
                const float s = scale(block);
                [[unroll]] for (uint c = 0; c < COLUMNS; ++c)
                    sums[r][c] += s * dot8(a, low[c], b, high[c]);
            }
        } else {
            // Of more vectors, four of the weights are decoded before any vector is looked at.
            for (uint second = 0; second < 2; ++second) {
                vec4 weights[ROWS];
                [[unroll]] for (uint r = 0; r < ROWS; ++r) {
                    const uint block = ((row + r) * k + col) / 32;
                    weights[r] = scale(block) * decode(block, part, second);
                }
                [[unroll]] for (uint c = 0; c < COLUMNS; ++c) {
                    const vec4 v = x[c * (k / 4) + at + APART * second];
                    [[unroll]] for (uint r = 0; r < ROWS; ++r)
                        sums[r][c] += dot(weights[r], v);
                }
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
