// Where each invocation's element of a tensor is, by divisions by its lengths. Lanes of a subgroup are in
// several rows.
//
// test run
// subgroup 4 16 32 128
// dispatch 4 1 1
// push u32 [20 3 2]
// out 0.0 i32 gen 512 = i % 20 + 100 * ((i - i % 20) / 20 % 3) + 10000 * ((i - i % 60) / 60 % 2) + 1000000 * (i - i % 120) / 120
#version 450
layout(local_size_x = 128) in;
layout(push_constant) uniform Lengths { uint n0, n1, n2; };
layout(set = 0, binding = 0) buffer Out { uint places[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    const uint i3 = i < n2 * n1 * n0 ? 0 : i / (n2 * n1 * n0);
    const uint behind3 = i - i3 * n2 * n1 * n0;
    const uint i2 = behind3 / (n1 * n0);
    const uint behind2 = behind3 - i2 * n1 * n0;
    const uint i1 = behind2 / n0;
    const uint i0 = behind2 - i1 * n0;
    places[i] = i0 + 100 * i1 + 10000 * i2 + 1000000 * i3;
}
