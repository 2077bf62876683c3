// 8- and 16-bit arithmetic wraps at its own width; shifts, division, comparison and minima go by the sign.
//
// test run
// subgroup 4 32
// in 0.0 i8 [100 -128 -1 127]
// in 0.1 i8 [100 -1 3 -127]
// out 0.2 i8 [-56 127 2 0]
// out 0.3 i8 [16 -128 -3 -1]
// out 0.4 u8 [1 0 85 0]
// out 0.5 i8 [25 -32 -1 31]
// out 0.6 u8 [25 32 63 31]
// out 0.7 i8 [100 -128 -1 -127]
// out 0.8 u8 [100 128 3 127]
// out 0.9 i32 [0 1 1 0]
// out 0.10 i16 [10000 128 -3 -16129]
// out 0.11 u16 [4464]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) readonly buffer InA { int8_t a[]; };
layout(set = 0, binding = 1) readonly buffer InB { int8_t b[]; };
layout(set = 0, binding = 2) buffer O2 { int8_t add[]; };
layout(set = 0, binding = 3) buffer O3 { int8_t mul[]; };
layout(set = 0, binding = 4) buffer O4 { uint8_t div[]; };
layout(set = 0, binding = 5) buffer O5 { int8_t ashr[]; };
layout(set = 0, binding = 6) buffer O6 { uint8_t lshr[]; };
layout(set = 0, binding = 7) buffer O7 { int8_t smin[]; };
layout(set = 0, binding = 8) buffer O8 { uint8_t umin[]; };
layout(set = 0, binding = 9) buffer O9 { int less[]; };
layout(set = 0, binding = 10) buffer O10 { int16_t wide[]; };
layout(set = 0, binding = 11) buffer O11 { uint16_t over[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    add[i] = a[i] + b[i];
    mul[i] = a[i] * b[i];
    div[i] = uint8_t(a[i]) / uint8_t(b[i]);
    ashr[i] = a[i] >> 2;
    lshr[i] = uint8_t(a[i]) >> 2;
    smin[i] = min(a[i], b[i]);
    umin[i] = min(uint8_t(a[i]), uint8_t(b[i]));
    less[i] = int(a[i] < b[i]);
    wide[i] = int16_t(a[i]) * int16_t(b[i]);
    if (i == 0)
        over[0] = uint16_t(50000) + uint16_t(20000);
}
