// Only the active invocations print, each a line; one in a loop prints as often as it comes by.
//
// test run
// target interp passes cpu lowered
// subgroup 4 8 32
// dispatch 2 1 1
// printf "group 0 lane 5" 1
// printf "group 1 lane 5" 1
// printf "again 0 1"
// printf "again 0 2"
// printf "again 1 1"
// printf "again 1 2"
// printf "again 2 2"
#version 450
#extension GL_EXT_debug_printf : require
layout(local_size_x = 8) in;

void main()
{
    uint i = gl_LocalInvocationIndex;
    if (i == 5)
        debugPrintfEXT("group %u lane %u", gl_WorkGroupID.x, i);
    if (gl_WorkGroupID.x == 1)
        return;
    for (uint t = 0; t <= 2; ++t)
        if (i >= 1 && i <= 2 && t <= i)
            debugPrintfEXT("again %u %u", t, i);
}
