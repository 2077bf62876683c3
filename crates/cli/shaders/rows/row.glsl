// A row of numbers for each work-group: LENGTH of them, a vec4 for each invocation at a time.
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require

layout(local_size_x = 32) in;
layout(push_constant) uniform Sizes { uint length; };
layout(set = 0, binding = 0) readonly buffer Input { vec4 x[]; };
layout(set = 0, binding = 1) writeonly buffer Output { vec4 y[]; };
