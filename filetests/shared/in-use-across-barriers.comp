// What is in use across barriers: numbers of all sizes, arrays at indices that are computed, conditions, in subgroups of which
// the last is partly filled.
//
// test run
// subgroup 4 8 16 32 64 128
// dispatch 2 1 1
// out 0.0 i32 gen 400 = 3 * (i % 200) + i % 4 * 7 + (i % 3 < 1 ? 1000 : 0) + sum(r, 3, (i % 200 + r) % 200 * r)
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 200) in;
layout(set = 0, binding = 0) buffer Out { int x[]; };
shared int ring[200];

void main()
{
    uint i = gl_LocalInvocationIndex;
    int64_t wide = int64_t(i) << 33;
    double half_of = double(i) * 0.5;
    u8vec4 bytes = u8vec4(uint8_t(i));
    int own[4] = int[4](0, 0, 0, 0);
    own[gl_GlobalInvocationID.x % 4] = int(gl_GlobalInvocationID.x % 4) * 7;
    bool is_third = gl_GlobalInvocationID.x % 3 == 0;
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        ring[i] = int(i) * round;
        barrier();
        sum += int(ring[(i + round) % 200] / max(round, 1)) * round;
        wide += int64_t(i);
        barrier();
    }
    sum -= int(wide - (int64_t(i) << 33)) - 3 * int(i);
    x[gl_GlobalInvocationID.x] = int(wide >> 33) + int(half_of * 2.0) + int(bytes.z) + own[gl_GlobalInvocationID.x % 4]
        + (is_third ? 1000 : 0) + sum;
}
