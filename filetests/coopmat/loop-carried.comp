// Matrices that loops hand on: swapped between variables in each turn, chosen by a uniform condition, kept from the turn
// before.
//
// test run
// subgroup 4 32
// push u32 [5]
// out 0.0 f32 [8*16]
// out 0.1 f32 [5*16]
// out 0.2 f32 [103*16]
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint turns; };
layout(set = 0, binding = 0) buffer O0 { float fibonacci[]; };
layout(set = 0, binding = 1) buffer O1 { float before[]; };
layout(set = 0, binding = 2) buffer O2 { float chosen[]; };
#define M MATRIX(float, 4, 4, Accumulator)

void main()
{
    M x = M(1.0), y = M(1.0), last = M(0.0), pick = M(100.0);
    for (uint t = 0; t < turns; ++t) {
        M next = x + y;
        last = x;
        x = y;
        y = next;
        if (t % 2 == 0)
            pick = pick + M(1.0);
    }
    coopMatStore(x, fibonacci, 0, 4, ROW_MAJOR);
    coopMatStore(last, before, 0, 4, ROW_MAJOR);
    coopMatStore(pick, chosen, 0, 4, ROW_MAJOR);
}
