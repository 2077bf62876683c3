// 64-bit arithmetic, shifts past 32, comparison and conversion.
//
// test run
// subgroup 4 32
// in 0.0 i64 [5000000000 -5000000000 9223372036854775807 -1]
// in 0.1 i64 [3 7 1 4294967296]
// out 0.2 i64 [5000000003 -4999999993 -9223372036854775808 4294967295]
// out 0.3 i64 [15000000000 -35000000000 9223372036854775807 -4294967296]
// out 0.4 i64 [1666666666 -714285714 9223372036854775807 0]
// out 0.5 i64 [2 -2 0 -1]
// out 0.6 i64 [1 -2 2147483647 -1]
// out 0.7 u64 [1 0xfffffffe 0x7fffffff 0xffffffff]
// out 0.8 i64 [0 0 0xf000000000000000 0xf000000000000000]
// out 0.9 u32 [705032704 1]
// out 0.10 f32 [5e9 -5e9 9223372036854775807 -1]
// out 0.11 i32 [0 1 0 1]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) readonly buffer InA { int64_t a[]; };
layout(set = 0, binding = 1) readonly buffer InB { int64_t b[]; };
layout(set = 0, binding = 2) buffer O2 { int64_t add[]; };
layout(set = 0, binding = 3) buffer O3 { int64_t mul[]; };
layout(set = 0, binding = 4) buffer O4 { int64_t div[]; };
layout(set = 0, binding = 5) buffer O5 { int64_t rem[]; };
layout(set = 0, binding = 6) buffer O6 { int64_t ashr[]; };
layout(set = 0, binding = 7) buffer O7 { uint64_t lshr[]; };
layout(set = 0, binding = 8) buffer O8 { int64_t shl[]; };
layout(set = 0, binding = 9) buffer O9 { uint halves[2]; };
layout(set = 0, binding = 10) buffer O10 { float f[]; };
layout(set = 0, binding = 11) buffer O11 { int less[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    add[i] = a[i] + b[i];
    mul[i] = a[i] * b[i];
    div[i] = a[i] / b[i];
    rem[i] = a[i] - b[i] * (a[i] / b[i]);
    ashr[i] = a[i] >> 32;
    lshr[i] = uint64_t(a[i]) >> 32;
    shl[i] = a[i] << 60;
    f[i] = float(a[i]);
    less[i] = int(a[i] < b[i]);
    if (i == 0) {
        u32vec2 both = unpack32(uint64_t(a[0]));
        halves[0] = both.x;
        halves[1] = both.y;
    }
}
