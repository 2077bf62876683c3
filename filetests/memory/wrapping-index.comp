// Indices that rise evenly in their own width only: by 2^31, so that every other lane is at the
// object again, and as bytes that wrap between lanes.
//
// test run
// in 0.0 i32 [5 6 7 8]
// inout 0.1 u32 [0*32]
// out 0.1 u32 [5 0 5 0 5 0 5 0 5 0 5 0 5 0 5 0 5 0 5 0 5 0 5 0 5 0 5 0 5 0 5 0]
// inout 0.2 u32 [0*32]
// out 0.2 u32 [7 8 5 6 7 8 5 6 7 8 5 6 7 8 5 6 7 8 5 6 7 8 5 6 7 8 5 6 7 8 5 6]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { uint x[]; };
layout(set = 0, binding = 1) buffer Out { uint y[]; };
layout(set = 0, binding = 2) buffer Bytes { uint z[]; };

void main()
{
    uint lane = gl_LocalInvocationIndex;
    y[lane] = x[int(lane - 32u) << 31];
    uint8_t byte = uint8_t(lane * 64u) + uint8_t(128);
    z[lane] = x[uint(byte) >> 6];
}
