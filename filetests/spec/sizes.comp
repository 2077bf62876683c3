// Specialisation constants as array sizes, loop bounds, work-group sizes and in expressions.
//
// test run
// keys A=3 X=8
// spec 0=A 1=X
// out 0.0 u32 gen X = A * 100 + i * A + X
// out 0.1 u32 gen 3 = i == 0 ? X : i == 1 ? A * A : A % 2 == 0 ? 10 : 20
// case three: A=3
// case four: A=4
// subgroup 4 32
// case wide: A=5 X=64
// subgroup 16 128
#version 450
layout(local_size_x_id = 1) in;
layout(constant_id = 0) const uint A = 1;
const uint square = A * A;
const bool even = (A & 1u) == 0u;
const uint choice = even ? 10u : 20u;
layout(set = 0, binding = 0) buffer O0 { uint x[]; };
layout(set = 0, binding = 1) buffer O1 { uint y[3]; };
shared uint part[A][gl_WorkGroupSize.x];

void main()
{
    uint i = gl_LocalInvocationIndex;
    uint table[A + 1];
    for (uint k = 0; k <= A; ++k)
        table[k] = k * i;
    for (uint k = 0; k < A; ++k)
        part[k][i] = table[k + 1];
    barrier();
    x[i] = part.length() * 100 + part[A - 1][i] + part[0].length();
    if (i == 0) {
        y[0] = gl_WorkGroupSize.x;
        y[1] = square;
        y[2] = choice;
    }
}
