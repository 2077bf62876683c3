// What every form of the product with quantised weights shares: D = W*X, where W is M x K, X is K x N and D is M x N.
//
// The rows of W are blocks of 32 weights with one f16 scale, without gaps:
//   q4_0  18 bytes: the scale, then 16 bytes; byte i holds weight i in its low half and weight i + 16 in its high
//         half, each plus 8                                        (unless BLOCK_Q8_0 is defined)
//   q8_0  34 bytes: the scale, then 32 signed bytes                (if BLOCK_Q8_0 is defined)
// A weight times its scale is rounded to f16. X lies column by column, D row by row.

const uint BLOCK = 32;
#ifdef BLOCK_Q8_0
const uint BLOCK_BYTES = 34;
#else
const uint BLOCK_BYTES = 18;
#endif

layout(push_constant) uniform Sizes {
    uint M;
    uint N;
    uint K;
};

layout(set = 0, binding = 1) readonly buffer InputX { float16_t x[]; };
layout(set = 0, binding = 2) writeonly buffer OutputD { float d[]; };

// Weight `i` of a q4_0 block, from the byte that holds it.
int weightQ4(uint byte, uint i)
{
    return int((byte >> (4 * (i / 16))) & 15) - 8;
}
