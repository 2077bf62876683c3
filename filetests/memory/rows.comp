// Rows of a block that fill registers, wherever they are: copied in a loop whose counter each invocation has of its own,
// the last one partly outside; in another order within them; and by some invocations only.
//
// test run
// subgroup 4 16 32 64
// in 0.0 i32 gen 1000 = i + 1
// in 0.1 i32 gen 2 = i == 0 ? 64 : 68
// out 0.2 i32 gen 512 = div(i, 32) * 64 + i % 32 < 1000 ? div(i, 32) * 64 + i % 32 + 1 : 0
// out 0.3 i32 gen 512 = div(i, 32) * 68 + i % 32 < 1000 ? div(i, 32) * 68 + i % 32 + 1 : 0
// out 0.4 i32 gen 512 = div(i, 32) * 68 + 28 - i % 32 + 2 * (i % 4) < 1000 ? div(i, 32) * 68 + 28 - i % 32 + 2 * (i % 4) + 1 : 0
// inout 0.5 i32 gen 512 = -1
// out 0.5 i32 gen 512 = div(i, 32) % 4 == 3 ? -1 : div(i, 32) * 64 + i % 32 < 1000 ? div(i, 32) * 64 + i % 32 + 1 : 0
// out 0.6 i32 gen 500 = div(i, 32) * 64 + i % 32 < 1000 ? div(i, 32) * 64 + i % 32 + 1 : 0
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { ivec4 x[]; };
layout(set = 0, binding = 1) readonly buffer Strides { int even; int odd; };
layout(set = 0, binding = 2) buffer Even { ivec4 y[]; };
layout(set = 0, binding = 3) buffer Odd { ivec4 z[]; };
layout(set = 0, binding = 4) buffer Turned { ivec4 turned[]; };
layout(set = 0, binding = 5) buffer Some { ivec4 some[]; };
layout(set = 0, binding = 6) buffer Cut { ivec4 cut[]; };
shared ivec4 block[16 * 9];

void copy(int stride)
{
    int column = int(gl_LocalInvocationIndex) % 8;
    for (int row = int(gl_LocalInvocationIndex) / 8; row < 16; row += 8)
        block[9 * row + column] = x[stride / 4 * row + column];
    barrier();
}

void main()
{
    int column = int(gl_LocalInvocationIndex) % 8;
    int first = int(gl_LocalInvocationIndex) / 8;
    copy(odd);
    for (int row = first; row < 16; row += 8) {
        z[8 * row + column] = block[9 * row + column];
        turned[8 * row + 7 - column] = x[odd / 4 * row + column];
    }
    barrier();
    copy(even);
    for (int row = first; row < 16; row += 8) {
        y[8 * row + column] = block[9 * row + column];
        // At the ends of pieces outside, and where the rows' distance is not known.
        cut[even / 8 * row + column] = block[9 * row + column];
        if (row % 4 != 3)
            some[even / 8 * row + column] = block[9 * row + column];
    }
}
