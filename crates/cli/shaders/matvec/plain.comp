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

// The eight weights of a part of a block, by fours, and where the second four are: those of nibbles are half a block away.
#if defined(BLOCK_Q4_0)
const uint FIRST = 1, APART = 4;
void decode(uint block, uint part, out vec4 low, out vec4 high)
{
    const uint a = blocks[block].weights[2 * part], b = blocks[block].weights[2 * part + 1];
    low = vec4(a & 15, a >> 8 & 15, b & 15, b >> 8 & 15) - 8.0;
    high = vec4(a >> 4 & 15, a >> 12 & 15, b >> 4 & 15, b >> 12 & 15) - 8.0;
}
#elif defined(BLOCK_Q8_0)
const uint FIRST = 2, APART = 1;
vec4 decode(uint block, uint first)
{
    const uint a = blocks[block].weights[first], b = blocks[block].weights[first + 1];
    const ivec4 bytes = ivec4(a << 24, a << 16, b << 24, b << 16);
    return vec4(bytes >> 24);
}
void decode(uint block, uint part, out vec4 low, out vec4 high)
{
    low = decode(block, 4 * part);
    high = decode(block, 4 * part + 2);
}
#else
const uint FIRST = 2, APART = 1;
void decode(uint block, uint part, out vec4 low, out vec4 high)
{
    low = vec4(blocks[block].weights[2 * part]);
    high = vec4(blocks[block].weights[2 * part + 1]);
}
#endif

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

// Vectors that are multiplied at a time, as many as registers hold. For more, the rows are read again, from a cache.
const uint TURNS = (COLUMNS + 3) / 4;
const uint GROUP = (COLUMNS + TURNS - 1) / TURNS;

void multiply(uint first)
{
    const uint row = ROWS * gl_WorkGroupID.x;
    const uint lane = gl_SubgroupInvocationID;
    float sums[ROWS][GROUP];
    [[unroll]] for (uint r = 0; r < ROWS; ++r)
        [[unroll]] for (uint c = 0; c < GROUP; ++c)
            sums[r][c] = 0.0;

    for (uint col = 8 * lane; col < k; col += 8 * LANES) {
        const uint part = col % 32 / 8;
        const uint at = (col - col % 32) / 4 + FIRST * part;
        vec4 low[GROUP], high[GROUP];
        [[unroll]] for (uint c = 0; c < GROUP; ++c) {
            const uint begin = min(first + c, COLUMNS - 1) * (k / 4);
            low[c] = x[begin + at];
            high[c] = x[begin + at + APART];
        }
        [[unroll]] for (uint r = 0; r < ROWS; ++r) {
            const uint block = ((row + r) * k + col) / 32;
            vec4 a, b;
            decode(block, part, a, b);
            const float s = scale(block);
            [[unroll]] for (uint c = 0; c < GROUP; ++c)
                sums[r][c] += s * dot8(a, low[c], b, high[c]);
        }
    }

    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        [[unroll]] for (uint c = 0; c < GROUP; ++c) {
            const float sum = subgroupAdd(sums[r][c]);
            if (subgroupElect() && row + r < m && first + c < COLUMNS)
                y[(row + r) * COLUMNS + first + c] = sum;
        }
    }
}

void main()
{
    if (TURNS == 1)
        multiply(0);
    else
        for (uint first = 0; first < COLUMNS; first += GROUP)
            multiply(first);
}
