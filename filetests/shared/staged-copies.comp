// Copies through shared memory as kernels stage the tiles of a matrix: 16 bytes of each invocation, two or sixteen of
// which make a row, into rows that are padded. What is written to a second buffer in other units shows the order.
//
// test run
// subgroup 4 16 32 64
// dispatch 2 1 1
// in 0.0 i32 gen 2048 = i * 7 % 1009
// in 0.1 i32 gen 4 = 64
// out 0.2 i32 gen 2048 = i * 7 % 1009
// out 0.3 i32 gen 2048 = (i - i % 4 + 3 - i % 4) * 7 % 1009
// out 0.4 i32 gen 512 = i * 7 % 1009 + 1
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer In { uvec4 x[]; };
layout(set = 0, binding = 1) buffer Strides { uint stride; };
layout(set = 0, binding = 2) buffer Out { uvec2 y[]; };
layout(set = 0, binding = 3) buffer Turned { uvec4 z[]; };
layout(set = 0, binding = 4) buffer Single { uint single[]; };
const uint ROWS = 32;
shared uvec4 narrow[ROWS * 3];
shared uvec4 wide[4 * 17];
shared uint one[4 * 17];

void main()
{
    uint l = gl_LocalInvocationID.x;
    uint base = gl_WorkGroupID.x * 256;
    // Two for each row, a row's length in memory unknown to the compiler.
    uvec4 kept[4];
    for (uint part = 0; part < 4; ++part)
        kept[part] = x[(base * 4 + part * 256 + stride / 8 * (l / 2) + 4 * (l % 2)) / 4];
    for (uint part = 0; part < 4; ++part) {
        barrier();
        narrow[(12 * (l / 2) + 4 * (l % 2)) / 4] = kept[part];
        barrier();
        uvec4 v = narrow[3 * (l / 2) + l % 2];
        y[2 * (base + part * 64 + l)] = v.xy;
        y[2 * (base + part * 64 + l) + 1] = v.zw;
    }
    for (uint part = 0; part < 4; ++part) {
        barrier();
        wide[(68 * (l / 16) + 4 * (l % 16)) / 4] = kept[part];
        barrier();
        z[base + part * 64 + l] = wide[17 * (l / 16) + l % 16].wzyx;
    }
    // One scalar each.
    for (uint part = 0; part < 4; ++part) {
        barrier();
        one[17 * (l / 16) + l % 16] = x[gl_WorkGroupID.x * 64 + part * 16 + l / 4][l % 4];
        barrier();
        single[base + part * 64 + l] = one[17 * (l / 16) + l % 16] + 1;
    }
}
