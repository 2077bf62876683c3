// Functions of elements where the elements of a tile are one vector behind the other, and where they nearly are: rows
// shorter and longer than a subgroup, subgroups that are not full, matrices of several uses and types, values that
// differ between invocations, effects on memory, variables that outlive an element, and results that replace an
// operand or are stored to an array.
//
// test run
// subgroup 4 32
// spec 0=R 1=C 2=N 3=PARTIAL
// define SCOPE_ SCOPE
// keys OTHER=0
// in 0.0 f16 rand R*C 5 -8 8 1
// in 0.1 i32 [3 2]
// out 0.2 f32 gen R x C = $0.0[i] * 3 + r * 2 - c
// out 0.3 u32 gen R x C = r * 100 + c + 3
// out 0.4 i16 gen R x C = $0.0[i] < 0 ? -1 : c % 2 == 0 ? $0.0[i] : r
// out 0.5 f32 gen R x C = ($0.0[i] * 2 + 3) * 2 + 3
// gpu f32 gen R x C = ($0.0[i] * 2 + 3 + OTHER) * 2 + 3 + OTHER
// out 0.6 bf16 gen R x C = max($0.0[i], 0) + (r == c ? 1 : 0)
// out 0.7 f32 gen R x C = $0.0[i] < 1 ? 0 : $0.0[i] * $0.0[i]
//
// case subgroup-16x16: R=16 C=16 N=32 SCOPE=Subgroup PARTIAL=0 OTHER=(i%32==LANE?0:LANE+1) LANE=(r%8*4+div(c,2)%4)
// case subgroup-32x8: R=32 C=8 N=64 SCOPE=Subgroup PARTIAL=0 OTHER=(i%32==LANE?0:LANE+1) LANE=(r%8*4+div(c,2)%4)
// case subgroup-8x64: R=8 C=64 N=64 SCOPE=Subgroup PARTIAL=0 OTHER=(i%32==LANE?0:LANE+1) LANE=(r%8*4+div(c,2)%4)
// case subgroup-4x96: R=4 C=96 N=32 SCOPE=Subgroup PARTIAL=0
// case subgroup-1x32: R=1 C=32 N=32 SCOPE=Subgroup PARTIAL=0
// case subgroup-1x16: R=1 C=16 N=32 SCOPE=Subgroup PARTIAL=0
// case subgroup-3x48: R=3 C=48 N=32 SCOPE=Subgroup PARTIAL=0
// case subgroup-5x18: R=5 C=18 N=32 SCOPE=Subgroup PARTIAL=0
// case subgroup-7x16: R=7 C=16 N=32 SCOPE=Subgroup PARTIAL=0
// case partial-16x16: R=16 C=16 N=46 SCOPE=Subgroup PARTIAL=1
// case partial-16x32: R=16 C=32 N=3 SCOPE=Subgroup PARTIAL=1
// case workgroup-16x16: R=16 C=16 N=64 SCOPE=Workgroup PARTIAL=0
// case workgroup-32x64: R=32 C=64 N=96 SCOPE=Workgroup PARTIAL=0
// case workgroup-partial-16x16: R=16 C=16 N=46 SCOPE=Workgroup PARTIAL=1
// case workgroup-5x18: R=5 C=18 N=64 SCOPE=Workgroup PARTIAL=0
#version 460
#include "matrices2.glsl"

layout(local_size_x_id = 2) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(constant_id = 3) const uint PARTIAL = 0;
layout(set = 0, binding = 0) readonly buffer I0 { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { int three; int two; };
layout(set = 0, binding = 2) buffer O2 { float placed[]; };
layout(set = 0, binding = 3) buffer O3 { uint seen[]; };
layout(set = 0, binding = 4) buffer O4 { int16_t chosen[]; };
layout(set = 0, binding = 5) buffer O5 { float twice[]; };
layout(set = 0, binding = 6) buffer O6 { bfloat16_t positive[]; };
layout(set = 0, binding = 7) buffer O7 { float loops[]; };
#define SCOPE_OF(s) GLUE(gl_Scope, s)
#define M(T, U) coopmat<T, SCOPE_OF(SCOPE_), ROWS, COLS, gl_MatrixUse##U>

float place(const in uint32_t row, const in uint32_t col, const in float x, const in float y, const in int n)
{
    seen[row * COLS + col] = row * 100 + col + three;
    return x + y * 2.0 + float(row) * float(n) - float(col);
}

int16_t choose(const in uint32_t row, const in uint32_t col, const in int16_t x, const in int16_t y, const in int n)
{
    if (x < int16_t(0))
        return int16_t(-1);
    return col % 2 == 0 ? y : int16_t(row) * int16_t(n / 2);
}

// The invocation's own number counts only if the element is not its own, as a CPU distributes elements; where a GPU has
// fragments it counts for others.
float affine(const in uint32_t row, const in uint32_t col, const in float x, const in uint lane)
{
    const bool isOwn = (row * COLS + col) % gl_SubgroupSize == lane || PARTIAL != 0;
    return x * float(two) + float(three) + (isOwn ? 0.0 : float(lane + 1));
}

bfloat16_t positives(const in uint32_t row, const in uint32_t col, const in bfloat16_t x)
{
    return bfloat16_t(max(float(x), 0.0) + (row == col ? 1.0 : 0.0));
}

// The square, by as many additions as there are.
float square(const in uint32_t row, const in uint32_t col, const in float x)
{
    float sum = 0.0;
    for (float i = 0.0; i < x; ++i) {
        if (i == 0.0 && x > 0.0)
            sum = 0.0;
        sum += x;
    }
    return sum;
}

void main()
{
    M(float16_t, Accumulator) h;
    coopMatLoad(h, a, 0, COLS, ROW_MAJOR);
    M(float, Accumulator) f = M(float, Accumulator)(h), r;

    coopMatPerElementNV(r, f, place, f, two);
    coopMatStore(r, placed, 0, COLS, ROW_MAJOR);

    M(int16_t, B) i = M(int16_t, B)(f);
    coopMatPerElementNV(i, i, choose, i, two);
    coopMatStore(i, chosen, 0, COLS, ROW_MAJOR);

    M(float, Accumulator) all[2];
    all[1] = f;
    for (int n = 0; n < two; ++n)
        coopMatPerElementNV(all[1], all[1], affine, gl_SubgroupInvocationID);
    coopMatStore(all[1], twice, 0, COLS, ROW_MAJOR);

    M(bfloat16_t, A) b = M(bfloat16_t, A)(h);
    coopMatPerElementNV(b, b, positives);
    coopMatStore(b, positive, 0, COLS, ROW_MAJOR);

    coopMatPerElementNV(f, f, square);
    coopMatStore(f, loops, 0, COLS, ROW_MAJOR);
}
