// Indices of 64 bits (GL_EXT_shader_64bit_indexing), asked for by the execution mode: negative ones, those beyond the
// end, and those of which the lower half, or the lower half of the bytes they count, would be inside.
//
// test run
// in 0.0 i32 [5 6 7 8]
// in 0.1 i64 [0 1 2 3 -1 4 0x100000000 0x100000001 0x40000000 0x80000000 -4294967296 0x2000000000000000 0x4000000 -2147483648 0xffffffff 0x7fffffff]
// out 0.2 u32 [5 6 7 8 0*12]
// inout 0.3 i32 [0*4]
// out 0.3 i32 [100 101 102 103]
// inout 0.4 i32 [0*4]
// out 0.4 i32 [1 10 100 1000]
// out 0.5 i64 [4 4 4]
// in 0.6 i64 [-2 2 0xfffffffe 0x3ffffffe]
// out 0.7 i32 [0 0 5 6 7 8 0*10 7 8 0*46]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_64bit_indexing : require
#pragma shader_64bit_indexing
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer In { uint x[]; };
layout(set = 0, binding = 1) readonly buffer Indices { int64_t at[]; };
layout(set = 0, binding = 2) writeonly buffer Loaded { uint loaded[]; };
layout(set = 0, binding = 3) writeonly buffer Stored { uint stored[]; };
layout(set = 0, binding = 4) buffer Added { uint added[]; };
layout(set = 0, binding = 5) writeonly buffer Lengths { int64_t lengths[]; };
layout(set = 0, binding = 6) readonly buffer Bases { int64_t base[]; };
layout(set = 0, binding = 7) writeonly buffer Rows { uint rows[]; };

void main()
{
    uint lane = gl_LocalInvocationIndex;
    loaded[lane] = x[at[lane]];
    stored[at[lane]] = 100 + lane;
    uint power = lane == 0 ? 1 : lane == 1 ? 10 : lane == 2 ? 100 : 1000;
    atomicAdd(added[at[lane]], power);
    lengths[0] = x.length64();
    lengths[1] = int64_t(x.length());
    lengths[2] = stored.length64();
    // Indices that rise evenly.
    for (uint row = 0; row < 4; row++)
        rows[row * 16 + lane] = x[base[row] + int64_t(lane)];
}
