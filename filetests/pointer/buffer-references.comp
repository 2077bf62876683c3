// Device addresses: a linked list, arithmetic on references, references in references, casts from and to integers.
//
// test run
// subgroup 4 32
// in 0.0 addr [0.1 0.2+16]
// in 0.1 addr [0.2] i32 [10 11] addr [0.1+24] addr [0.2+4] i32 [99 0] addr [0.1]
// inout 0.2 i32 [1 2 3 4 5 6 7 8 9 10 11 12]
// out 0.2 i32 [1 2 3 104 5 6 7 8 9 10 11 50]
// out 0.3 i32 [10 99 10 5 8 4 1 24]
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_buffer_reference_uvec2 : require
layout(local_size_x = 1) in;
layout(buffer_reference, buffer_reference_align = 8) buffer Node;
layout(buffer_reference, buffer_reference_align = 4) buffer Ints { int v[4]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Node { Ints data; int value; int more; Node next; };
layout(set = 0, binding = 0) readonly buffer Root { Node first; Ints ints; };
layout(set = 0, binding = 3) writeonly buffer Out { int x[]; };

void main()
{
    Node n = first;
    x[0] = n.value;
    // Node is 24 bytes: data, value, more, next; the second lies behind the first.
    Node second = n.next;
    x[1] = n[1].value;
    x[2] = second.next.value;
    x[3] = ints.v[0];
    Ints far = ints + 0;
    x[4] = far.v[3];
    far = Ints(uint64_t(first.data) + 12ul);
    x[5] = far.v[0];
    far.v[0] += 100;
    Ints again = Ints(uvec2(unpack32(uint64_t(first.data))));
    x[6] = again.v[0];
    (again + 2).v[3] = 50;
    x[7] = int(uint64_t(second) - uint64_t(first));
}
