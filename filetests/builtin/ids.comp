// The built-in inputs in three dimensions.
//
// test run
// subgroup 4 32
// dispatch 3 2 2
// out 0.0 u32 gen 288 = div(i, 24) % 3 + 10 * (div(i, 72) % 2) + 100 * div(i, 144)
// out 0.1 u32 gen 288 = i % 24 % 4 + 10 * (div(i % 24, 4) % 3) + 100 * div(i % 24, 12)
// out 0.2 u32 gen 288 = 4 * (div(i, 24) % 3) + i % 24 % 4 + 100 * (3 * (div(i, 72) % 2) + div(i % 24, 4) % 3)
//     + 10000 * (2 * div(i, 144) + div(i % 24, 12))
// out 0.3 u32 gen 288 = i % 24
// out 0.4 u32 [3 2 2 4 3 2]
#version 450
layout(local_size_x = 4, local_size_y = 3, local_size_z = 2) in;
layout(set = 0, binding = 0) buffer O0 { uint group[]; };
layout(set = 0, binding = 1) buffer O1 { uint local[]; };
layout(set = 0, binding = 2) buffer O2 { uint global[]; };
layout(set = 0, binding = 3) buffer O3 { uint index[]; };
layout(set = 0, binding = 4) buffer O4 { uint sizes[6]; };

uint digits(uvec3 v, uint base) { return v.x + base * (v.y + base * v.z); }

void main()
{
    uint g = gl_WorkGroupID.x + 3 * (gl_WorkGroupID.y + 2 * gl_WorkGroupID.z);
    uint i = g * 24 + gl_LocalInvocationIndex;
    group[i] = digits(gl_WorkGroupID, 10);
    local[i] = digits(gl_LocalInvocationID, 10);
    global[i] = digits(gl_GlobalInvocationID, 100);
    index[i] = gl_LocalInvocationIndex;
    if (i == 0) {
        for (int k = 0; k < 3; ++k) {
            sizes[k] = gl_NumWorkGroups[k];
            sizes[3 + k] = gl_WorkGroupSize[k];
        }
    }
}
