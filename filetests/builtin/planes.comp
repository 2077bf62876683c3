// The built-in inputs of work-groups whose sides are powers of two, as subgroups are, and of one that is less than a subgroup.
//
// test run
// keys X=4 Y=4 Z=4
// subgroup 4 8 16 32 64 128
// spec 0=X 1=Y 2=Z
// dispatch 3 2 1
// out 0.0 u32 gen 6*X*Y*Z = i % X + 100 * (div(i, X) % Y) + 10000 * (div(i, X * Y) % Z)
// out 0.1 u32 gen 6*X*Y*Z = div(i, X * Y * Z) % 3 * X + i % X + 100 * (div(i, X * Y * Z * 3) * Y + div(i, X) % Y)
//   + 10000 * (div(i, X * Y) % Z)
// case cube: X=4
// case plane: X=8 Y=8 Z=1
// case rows: X=16 Y=4 Z=1
// case planes: X=8 Y=4 Z=3
// case columns: X=2 Y=32 Z=1
// case depth: X=1 Y=8 Z=8
// case few: X=2 Y=2 Z=2
// case few-deep: X=2 Y=1 Z=8
// case odd: X=4 Y=3 Z=4
#version 450
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(set = 0, binding = 0) buffer O0 { uint local[]; };
layout(set = 0, binding = 1) buffer O1 { uint global[]; };

uint digits(uvec3 v) { return v.x + 100 * (v.y + 100 * v.z); }

void main()
{
    uint g = gl_WorkGroupID.x + 3 * gl_WorkGroupID.y;
    uint i = g * gl_WorkGroupSize.x * gl_WorkGroupSize.y * gl_WorkGroupSize.z + gl_LocalInvocationIndex;
    local[i] = digits(gl_LocalInvocationID);
    global[i] = digits(gl_GlobalInvocationID);
}
