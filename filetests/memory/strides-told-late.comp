// Copies of rows whose strides are known when it runs: next to each other, apart, backwards by wrapping around, beyond the
// end of the buffers, and by some lanes only.
//
// test run
// subgroup 4 32
// dispatch 3 1 1
// push u32 [13 1 2 3]
// in 0.0 u32 gen 96 = 100 + i
// inout 0.1 u32 [0*96]
// out 0.1 u32 gen 96 = i < 60 ? 100 + i : 0
// inout 0.2 u32 [0*192]
// out 0.2 u32 gen 192 = (i % 2 == 0) * (100 + div(i, 2))
// inout 0.3 u16 [0*90]
// out 0.3 u16 gen 90 = i % 3 == 0 ? 100 + div(i, 3) : 0
// out 0.4 u32 gen 40 = 139 - i
#version 450
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint width, one, two, three; };
layout(set = 0, binding = 0) readonly buffer In { uint a[]; };
layout(set = 0, binding = 1) buffer Near { uint near[]; };
layout(set = 0, binding = 2) buffer Apart { uint apart[]; };
layout(set = 0, binding = 3) buffer Halves { uint16_t halves[]; };
layout(set = 0, binding = 4) buffer Back { uint back[]; };

void main()
{
    uint i = gl_GlobalInvocationID.x;
    uint row = i / width;
    uint column = i - row * width;
    uint x = a[(row * width + column) * one];
    if (i < 60)
        near[i * one] = x;
    apart[i * two] = x;
    halves[i * three] = uint16_t(x);
    back[39 - i * one] = x;
}
