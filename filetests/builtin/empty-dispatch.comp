// A dispatch of no work-groups does nothing.
//
// test run
// in 0.0 u32 [1 2 3 4]
// dispatch 0 4 1
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Out { uint x[]; };
void main() { x[gl_WorkGroupID.y] = 9; }
