// Addresses that differ between invocations, references in push constants, writes of vectors and structures, and
// divergent loads through them.
//
// test run
// subgroup 4 16
// push addr [0.0]
// in 0.0 addr [0.1+8 0.1 0.1+24 0.1+16]
// in 0.1 f32 ramp 8
// out 0.2 f32 [2 3 0 1 6 7 4 5]
// out 0.3 u32 gen 12 = i % 3 == 0 ? div(i, 3) : i % 3 == 1 ? bits(f32, 0.5) : 2 + 65536 * 7
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 4) in;
layout(buffer_reference, buffer_reference_align = 8) readonly buffer Pair { vec2 v; };
layout(buffer_reference) readonly buffer Table { Pair entry[]; };
struct Mixed { uint a; float b; u16vec2 c; };
layout(push_constant) uniform Push { Table table; };
layout(set = 0, binding = 2) writeonly buffer Out { vec2 x[]; };
layout(set = 0, binding = 3) writeonly buffer Structures { Mixed m[]; };

void main()
{
    uint i = gl_LocalInvocationIndex;
    Pair p = table.entry[i];
    x[i] = vec2(-1);
    if ((i & 1) == 0)
        x[i] = p.v;
    else
        x[i] = table.entry[i].v;
    m[i] = Mixed(i, 0.5, u16vec2(2, 7));
}
