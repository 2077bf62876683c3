// Subgroups that load the same tile of shared memory, one that changes between barriers, beside what each writes and reads
// itself.
//
// test run
// subgroup 16 32
// dispatch 2 1 1
// in 0.0 f32 rand 768 1 -1 1 0.5
// out 0.1 f32 gen 16 x 256 = (3 * $0.0[c] + 2 * $0.0[256 + c] + $0.0[512 + c]) * (r % 8 + 1)
#version 460
#include "matrices.glsl"

layout(local_size_x = 8 * 16) in;
layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) buffer Out { float y[]; };
const uint PARTS = 8;
shared float tile[256];
shared float own[PARTS * 256];

void main()
{
    uint i = gl_LocalInvocationIndex;
    MATRIX(float, 16, 16, Accumulator) sum[PARTS], total[PARTS];
    for (uint p = 0; p < PARTS; ++p)
        sum[p] = total[p] = MATRIX(float, 16, 16, Accumulator)(0.0);
    for (uint round = 0; round < 3; ++round) {
        barrier();
        tile[i] = x[round * 256 + i];
        tile[i + 128] = x[round * 256 + i + 128];
        barrier();
        // All subgroups read one tile, and with 16 lanes each has one part, with 32 two.
        MATRIX(float, 16, 16, Accumulator) loaded;
        coopMatLoad(loaded, tile, 0, 16, ROW_MAJOR);
        for (uint p = gl_SubgroupID; p < PARTS; p += gl_NumSubgroups) {
            sum[p] = sum[p] + loaded * float(p + 1);
            coopMatStore(sum[p], own, p * 256, 16, ROW_MAJOR);
            MATRIX(float, 16, 16, Accumulator) back;
            coopMatLoad(back, own, p * 256, 16, ROW_MAJOR);
            total[p] = total[p] + back;
        }
    }
    uint first = gl_WorkGroupID.x * 2048;
    for (uint p = gl_SubgroupID; p < PARTS; p += gl_NumSubgroups)
        coopMatStore(total[p], y, first + p * 256, 16, ROW_MAJOR);
}
