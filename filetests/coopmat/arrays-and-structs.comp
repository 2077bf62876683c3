// Arrays of matrices by dynamic indices, structures that hold matrices among other things, arrays of such structures,
// and copies of all of them.
//
// test run
// subgroup 4 32
// in 0.0 f32 ramp 256
// out 0.1 f32 gen 256 = div(i, 64) == 0 ? $0.0[192 + i % 64]
//     : div(i, 64) == 1 ? 1000 + i % 64 : div(i, 64) == 2 ? 7 + 64 + i % 64 + 128 + i % 64 : 2 * (192 + i % 64) + 0.5
// out 0.2 i32 [7 42]
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer Out { float b[]; };
layout(set = 0, binding = 2) buffer Numbers { int n[]; };
#define M MATRIX(float, 8, 8, Accumulator)
struct Part { int tag; M m; float f; };
struct Whole { Part parts[2]; M extra[2]; };

Whole global;

void main()
{
    M tiles[4];
    for (int i = 0; i < 4; ++i)
        coopMatLoad(tiles[i], a, 64 * i, 8, ROW_MAJOR);
    Whole w;
    w.parts[0] = Part(7, tiles[0], 0.25);
    w.parts[1].tag = 42;
    w.parts[1].m = tiles[2];
    w.parts[1].f = 0.5;
    for (int i = 0; i < 2; ++i)
        w.extra[i] = tiles[3 - i];
    w.parts[0].m = w.parts[0].m + M(1000.0);
    global = w;
    w.parts[1].m = M(0.0);
    M results[4];
    results[0] = global.extra[0];
    results[1] = global.parts[0].m;
    results[2] = tiles[1] + global.parts[1].m + M(float(global.parts[0].tag));
    results[3] = global.extra[0] + tiles[3] + M(global.parts[1].f);
    for (int i = 3; i >= 0; --i)
        coopMatStore(results[i], b, 64 * i, 8, ROW_MAJOR);
    n[0] = global.parts[0].tag;
    n[1] = global.parts[1].tag;
}
