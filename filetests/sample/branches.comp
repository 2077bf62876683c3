// Sampling in branches, loops and functions that some invocations leave early: only those that are there sample, and
// those that are not keep what they have.
//
// test run
// subgroup 4 8 32
// dispatch 2 1 1
// tolerance exact
// image 0.0 R32Sfloat 8
// in 0.0 f32 [1 2 4 8 16 32 64 128]
// sampler 0.0 nearest
// image 0.1 R32Uint 8 1
// in 0.1 u32 [0 3 1 4 1 5 2 6]
// sampler 0.2 nearest repeat
//
// Invocation i of a group follows i -> 0 3 1 4 1 5 2 6 until it meets 1, or has taken 6 steps, and adds the texels that
// it meets after itself: 0: six times 1; 1 and after it: none; 2: 2; 3: 16, 2; 4: 2; 5: six times 32; 6: 4, 2; 7: 64, 4, 2.
// inout 0.3 f32 fill 16 -1
// out 0.3 f32 [6 0 2 18 2 192 6 70  -6 0 -2 -18 -2 -192 -6 -70]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) uniform sampler1D values;
layout(set = 0, binding = 1) uniform utexture2D next;
layout(set = 0, binding = 2) uniform sampler how;
layout(set = 0, binding = 3) buffer Out { float result[]; };

float follow(uint at)
{
    float sum = 0;
    for (int steps = 0; steps < 6; steps++) {
        if (at == 1)
            return sum;
        at = textureLod(usampler2D(next, how), vec2((at + 0.5) / 8, 3.5), 0).x;
        sum += textureLod(values, (at + 0.5) / 8, 0).x;
    }
    return sum;
}

void main()
{
    uint i = gl_LocalInvocationID.x;
    float sum = follow(i);
    result[gl_GlobalInvocationID.x] = gl_WorkGroupID.x == 0 ? sum : -sum;
}
