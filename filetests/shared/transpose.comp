// A tile of a matrix of structures, transposed through shared memory of nested arrays.
//
// test run
// subgroup 8 64
// in 0.0 f32 ramp 128
// out 0.1 f32 gen 8 x 16 = div(c, 2) * 16 + r * 2 + c % 2
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
struct Pair { float a; float b; };
layout(set = 0, binding = 0) readonly buffer In { Pair m[8][8]; };
layout(set = 0, binding = 1) buffer Out { Pair t[8][8]; };
shared Pair tile[8][9];

void main()
{
    uvec2 p = gl_LocalInvocationID.xy;
    tile[p.y][p.x] = m[p.y][p.x];
    memoryBarrierShared();
    barrier();
    t[p.y][p.x] = tile[p.x][p.y];
}
