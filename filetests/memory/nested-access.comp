// Access chains through arrays of structures of arrays of vectors, with constant and dynamic indices, read and
// written in storage, in function variables and in private ones.
//
// test run
// subgroup 4 32
// in 0.0 f32 ramp 48
// out 0.1 f32 gen 24 = i < 16 ? (i % 2) * 24 + div(i, 2) % 2 * 12 + 4 + div(i, 4) % 4
//     : (i == 16 ? 5 : i == 17 ? 5.5 : i == 18 ? 100 : i == 19 ? 17 : i == 20 ? 22 : i == 21 ? 34 : i == 22 ? 46 : 10)
#version 450
layout(local_size_x = 16) in;
struct Leaf { vec4 v[2]; vec4 w; };
struct Branch { Leaf leaf[2]; };
layout(set = 0, binding = 0, std430) readonly buffer In { Branch tree[2]; };
layout(set = 0, binding = 1, std430) writeonly buffer Out { float x[]; };
Branch global;

void main()
{
    int i = int(gl_LocalInvocationID.x);
    // Branch 24 floats, leaf 12, vector 4.
    x[i] = tree[i % 2].leaf[(i / 2) % 2].v[1][(i / 4) % 4];
    if (i != 0)
        return;
    Branch local = tree[0];
    x[16] = local.leaf[0].v[1].y;
    local.leaf[0].v[1].y += 0.5;
    Branch copy = local;
    local.leaf[0].v[1].y = 100.0;
    x[17] = copy.leaf[0].v[1].y;
    x[18] = local.leaf[0].v[1].y;
    global = copy;
    int k = int(copy.leaf[0].v[0].y);
    x[19] = global.leaf[k].v[k][k];
    global.leaf[k].w = tree[k - 1].leaf[k].w;
    x[20] = global.leaf[1].w[k + 1];
    x[21] = tree[1].leaf[0].w.z;
    x[22] = tree[k].leaf[k].w.z;
    vec4 both[2] = tree[0].leaf[0].v;
    both[1] = both[k - 1].wzyx;
    x[23] = both[1].x + both[0].w + both[1].w + 4.0;
}
