// Long vectors in every kind of storage, whole and by component, in arrays and structures, with the strides of std140 and
// without padding; what lies between them is left alone. Booleans are in shared memory.
//
// test run
// subgroup 4
// define LENGTH N
// in 0.0 f32 gen 4 x PAD = r*5000+c
// in 0.1 f32 gen 2 x PAD = r*7000-c
// in 0.2 addr [0.3]
// in 0.3 f32 gen 3 x N = r*9000+2*c
// inout 0.4 f32 gen 4 x PAD = 0-1
// out 0.4 f32 gen 4 x PAD = c<N?(r*5000+c)+((r%2)*7000-c):0-1
// inout 0.5 f32 gen 4 x PAD = 0-1
// out 0.5 f32 gen 4 x PAD = c<N?((3-r)%3*9000+2*c):0-1
// out 0.6 u32 gen 4 x N = (r+c)%3==0?1:0
// inout 0.7 f32 gen 4 x PAD = 0-1
// out 0.7 f32 gen 4 x PAD = c<N?c==r%N?r:(N-1-c)*3+r:0-1
//
// case one: N=1 PAD=4
// case two: N=2 PAD=4
// case five: N=5 PAD=8
// case sixteen: N=16 PAD=16
// case seventeen: N=17 PAD=20
// case thirty-two: N=32 PAD=32
// case thirty-three: N=33 PAD=36
// case hundred: N=100 PAD=100
// case most: N=1024 PAD=1024
#version 460
#extension GL_EXT_long_vector : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 4) in;

#define V vector<float, LENGTH>
#define N uint(LENGTH)

struct Entry { V v; };

layout(set = 0, binding = 0, std140) readonly buffer In { V a[]; };
layout(set = 0, binding = 1, std140) uniform Block { V u[2]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Address { V x[]; };
layout(set = 0, binding = 2) readonly buffer Pointers { Address address; };
layout(set = 0, binding = 4, std140) buffer Sum { V sum[]; };
layout(set = 0, binding = 5, std140) buffer Read { Entry read[]; };
layout(set = 0, binding = 6) buffer Mask { uint mask[]; };
layout(set = 0, binding = 7, std140) buffer Turned { V turned[]; };

shared V between[4];
shared vector<bool, LENGTH> bits[4];
V whole[2];

void main()
{
    uint id = gl_LocalInvocationIndex;
    // Memory to memory, through shared memory and a global variable.
    between[3 - id] = a[id];
    barrier();
    whole[id & 1u] = between[3 - id];
    whole[1u - (id & 1u)] = u[id % 2];
    sum[id] = whole[0] + whole[1];

    Entry e;
    e.v = address.x[(3 - id) % 3];
    read[id] = e;

    vector<bool, LENGTH> b;
    for (uint i = 0; i < N; ++i)
        b[i] = (id + i) % 3 == 0;
    bits[id] = b;
    barrier();
    vector<bool, LENGTH> c = bits[id];
    for (uint i = 0; i < N; ++i)
        mask[id * N + i] = uint(c[i]);

    // Components by dynamic indices, of what was loaded whole and in place.
    V v = V(float(id));
    for (uint i = 0; i < N; ++i)
        v[N - 1 - i] += float(3 * i);
    turned[id] = v;
    turned[id][id % N] = float(id);
}
