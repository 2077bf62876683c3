// Volatile and coherent buffers: what one matrix operation stores the next one loads, of the same and of other
// subgroups behind a barrier.
//
// test run
// subgroup 16 32
// inout 0.0 f32 ramp 64
// out 0.0 f32 gen 64 = i * 8
// out 0.1 f32 gen 64 = i * 8
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) volatile coherent buffer Data { float x[]; };
layout(set = 0, binding = 1) buffer Out { float y[]; };
#define M MATRIX(float, 8, 8, Accumulator)

void main()
{
    for (int t = 0; t < 3; ++t) {
        if (gl_SubgroupID == 0) {
            M m;
            coopMatLoad(m, x, 0, 8, ROW_MAJOR);
            coopMatStore(m + m, x, 0, 8, ROW_MAJOR);
        }
        memoryBarrierBuffer();
        barrier();
    }
    M m;
    coopMatLoad(m, x, 0, 8, ROW_MAJOR);
    coopMatStore(m, y, 0, 8, ROW_MAJOR);
}
