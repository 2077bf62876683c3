// A dispatch with a base: the first work-group has its id, the number of groups is that of the dispatch.
//
// test run
// base 2 1 0
// dispatch 2 1 1
// inout 0.0 u32 [0*8]
// out 0.0 u32 [0 0 0 0 102 102 103 103]
#version 450
layout(local_size_x = 2) in;
layout(set = 0, binding = 0) buffer Out { uint x[]; };
void main() { x[gl_GlobalInvocationID.x] = 100 * gl_GlobalInvocationID.y + gl_WorkGroupID.x; }
