// Where an invocation is executed: on a multiprocessor and at a place among the subgroups that it holds, both alike in a
// subgroup. How many there are is the device's to say; here it is one of each.
//
// test run
// out 0.0 u32 gen 64 = 3
// case w32:
// subgroup 32
#version 460
#extension GL_NV_shader_sm_builtins : require
#extension GL_KHR_shader_subgroup_vote : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer O0 { uint a[]; };

void main()
{
    bool alike = subgroupAllEqual(gl_SMIDNV) && subgroupAllEqual(gl_WarpIDNV);
    a[gl_LocalInvocationIndex] = uint(alike) + 2 * uint(gl_SMCountNV == 1 && gl_WarpsPerSMNV == 1);
}
