// Pointer parameters: inout and out, of scalars, vectors, arrays and structures, through nested calls.
// GLSL copies in and out, so the caller sees the changes after the call.
//
// test run
// out 0.0 i32 [5 7 30 3 4 66 12 1]
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Out { int x[8]; };

struct Pair {
    int first;
    int second[3];
};

void add(inout int v, int by) { v += by; }

void swap(inout Pair p)
{
    int t = p.first;
    p.first = p.second[1];
    add(t, 0);
    p.second[1] = t;
}

void sum(int a[3], out int total)
{
    total = 0;
    for (int i = 0; i < 3; ++i)
        add(total, a[i]);
}

void twice(inout ivec3 v) { v *= 2; v.yx = v.xy; }

void alias(inout int a, inout int b)
{
    a += 1;
    b += 2;
}

void main()
{
    Pair p = Pair(7, int[3](10, 5, 15));
    swap(p);
    x[0] = p.first;
    x[1] = p.second[1];
    int total;
    sum(int[3](p.second[0], p.first, p.second[2]), total);
    x[2] = total;
    ivec3 v = ivec3(1, 2, 33);
    twice(v);
    x[3] = v.y + 1;
    x[4] = v.x;
    x[5] = v.z;
    int w[4] = int[4](10, 0, 0, 0);
    alias(w[v.x - 4], w[1]);
    x[6] = w[0] + w[1] - 1;
    x[7] = int(w[2] == 0);
}
