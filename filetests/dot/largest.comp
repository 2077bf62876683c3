// Dot products of bytes of each value by the one of the largest magnitude, -128 or 128: of all signs, and of what masks leave,
// whose sums are added. Nothing may be clamped on the way.
//
// test run
// subgroup 4 8 16 32 64
// in 0.0 i32 [-2139062144]
// out 0.1 i32 gen 256 = 0 - (i < 128 ? i : i - 256) * 512
// out 0.2 i32 gen 256 = i * 512
// out 0.3 i32 gen 256 = (i < 128 ? i : i - 256) * 512
// out 0.4 i32 gen 256 = 0 - (i % 16 + div(i, 16) + i % 64) * 512
// out 0.5 i32 gen 256 = 0 - i % 128 * 512
#version 450
#extension GL_EXT_integer_dot_product : require
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer Factor { int factor; };
layout(set = 0, binding = 1) writeonly buffer Signed { int of_signed[]; };
layout(set = 0, binding = 2) writeonly buffer Unsigned { int of_unsigned[]; };
layout(set = 0, binding = 3) writeonly buffer Mixed { int of_mixed[]; };
layout(set = 0, binding = 4) writeonly buffer Parts { int of_parts[]; };
layout(set = 0, binding = 5) writeonly buffer Masked { int of_masked[]; };

void main()
{
    const uint i = gl_LocalInvocationID.x;
    const int x = int(i * 0x01010101u), y = factor;
    of_signed[i] = dotPacked4x8EXT(x, y);
    of_unsigned[i] = int(dotPacked4x8EXT(uint(x), uint(y)));
    of_mixed[i] = dotPacked4x8EXT(x, uint(y));
    of_parts[i] = dotPacked4x8EXT(x & 0x0f0f0f0f, y) + dotPacked4x8EXT(x >> 4 & 0x0f0f0f0f, y)
        + dotPacked4x8EXT(x & 0x3f3f3f3f, y);
    of_masked[i] = dotPacked4x8EXT(y, x & 0x7f7f7f7f);
}
