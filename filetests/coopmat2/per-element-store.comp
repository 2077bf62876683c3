// Functions of elements that store them, some under a condition, and whose result nobody uses.
//
// test run
// subgroup 4 32
// define SCOPE_ SCOPE
// in 0.0 f32 rand 12*20 5 -8 8 1
// out 0.1 f32 gen 12 x 20 = $0.0[i]
// out 0.2 f32 gen 5 = $0.0[i * 20]
//
// case subgroup: SCOPE=Subgroup
// case workgroup: SCOPE=Workgroup
#version 460
#include "matrices2.glsl"

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer Whole { float whole[]; };
layout(set = 0, binding = 2) buffer Column { float column[]; };
#define SCOPE_OF(s) GLUE(gl_Scope, s)

float store(const in uint32_t row, const in uint32_t col, const in float x)
{
    whole[row * 20 + col] = x;
    return x;
}

float storeColumn(const in uint32_t row, const in uint32_t col, const in float x, const in uint32_t rows)
{
    if (row < rows && col == 0)
        column[row] = x;
    return x;
}

void main()
{
    coopmat<float, SCOPE_OF(SCOPE_), 12, 20, gl_MatrixUseAccumulator> m;
    coopMatLoad(m, a, 0, 20, ROW_MAJOR);
    coopMatPerElementNV(m, m, store);
    coopMatPerElementNV(m, m, storeColumn, 5u);
}
