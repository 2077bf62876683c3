// Between integers: truncation, sign and zero extension.
//
// test run
// subgroup 4 32
// in 0.0 i32 [-1 200 -200 65536]
// out 0.1 i8 [-1 -56 56 0]
// out 0.2 i32 [-1 -56 56 0]
// out 0.3 u32 [255 200 56 0]
// out 0.4 i64 [-1 200 -200 65536]
// out 0.5 u64 [0xffffffff 200 0xffffff38 65536]
// out 0.6 u16 [65535 200 65336 0]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) readonly buffer In { int a[]; };
layout(set = 0, binding = 1) buffer O1 { int8_t narrow[]; };
layout(set = 0, binding = 2) buffer O2 { int sext[]; };
layout(set = 0, binding = 3) buffer O3 { uint zext[]; };
layout(set = 0, binding = 4) buffer O4 { int64_t wide[]; };
layout(set = 0, binding = 5) buffer O5 { uint64_t uwide[]; };
layout(set = 0, binding = 6) buffer O6 { uint16_t sixteen[]; };

void main()
{
    uint i = gl_LocalInvocationID.x;
    narrow[i] = int8_t(a[i]);
    sext[i] = int(int8_t(a[i]));
    zext[i] = uint(uint8_t(a[i]));
    wide[i] = int64_t(a[i]);
    uwide[i] = uint64_t(uint(a[i]));
    sixteen[i] = uint16_t(a[i]);
}
