// A barrier of the subgroup orders its own writes to shared memory; the subgroups of a work-group take different
// numbers of turns.
//
// test run
// subgroup 4 8 32
// out 0.0 u32 gen 64 = i - i % 4 + (i + 1) % 4 + 100 * (div(i, 32) + 1)
#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Out { uint x[]; };
shared uint place[64];

void main()
{
    uint i = gl_LocalInvocationIndex;
    uint turns = i / 32 + 1;
    for (uint t = 0; t < turns; ++t) {
        place[i] = i + 100 * (t + 1);
        subgroupMemoryBarrierShared();
        subgroupBarrier();
    }
    uint neighbour = (i & ~3u) + ((i + 1) & 3u);
    x[i] = place[neighbour];
}
