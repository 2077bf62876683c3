// Matrices of the work-group: functions of elements, with operands that differ between invocations and with effects on
// memory; conversions that change the use and the type; matrices chosen by a uniform condition.
//
// test run
// spec 0=N
// in 0.0 f16 rand 640 5 -8 8 1
// in 0.1 u32 [1 5]
// out 0.2 f32 gen 32 x 20 = $0.0[r * 20 + c] * 2 + r - c + 5
// out 0.3 u32 gen 32 x 20 = r * 100 + c + 1
// out 0.4 f32 gen 32 x 20 = i % W + i
// out 0.5 f32 gen 32 x 32 = sum(k, 20, $0.0[r * 20 + k] * $0.0[c * 20 + k])
// out 0.6 f16 gen 32 x 20 = $0.0[r * 20 + c]
// out 0.7 i32 gen 32 x 20 = $0.0[r * 20 + c]
// out 0.8 f32 gen 32 x 20 = -$0.0[r * 20 + c] / 2
// out 0.9 f16 gen 32 x 20 = $0.0[r * 20 + c] * 3
//
// case n64-w4: N=64 W=4
// subgroup 4
// case n256-w32: N=256 W=32
// subgroup 32
// case n1024-w128: N=1024 W=128
// subgroup 128
// case n32-w32: N=32 W=32
// subgroup 32
#version 460
#include "matrices2.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint N = 1;
layout(set = 0, binding = 0) readonly buffer I0 { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { uint one; uint five; };
layout(set = 0, binding = 2) buffer O2 { float mapped[]; };
layout(set = 0, binding = 3) buffer O3 { uint seen[]; };
layout(set = 0, binding = 4) buffer O4 { float lanes[]; };
layout(set = 0, binding = 5) buffer O5 { float gram[]; };
layout(set = 0, binding = 6) buffer O6 { float16_t back[]; };
layout(set = 0, binding = 7) buffer O7 { int ints[]; };
layout(set = 0, binding = 8) buffer O8 { float halves[]; };
layout(set = 0, binding = 9) buffer O9 { float16_t chosen[]; };
#define M(T, R, C, U) coopmat<T, gl_ScopeWorkgroup, R, C, gl_MatrixUse##U>

float map(const in uint32_t row, const in uint32_t col, const in float x, const in float y, const in uint32_t n)
{
    seen[row * 20 + col] = row * 100 + col + one;
    return x + y + float(row) - float(col) + float(n);
}

float ownLane(const in uint32_t row, const in uint32_t col, const in float x, const in float lane)
{
    return lane + float(row * 20 + col);
}

void main()
{
    M(float16_t, 32, 20, Accumulator) loaded;
    coopMatLoad(loaded, a, 0, 20, ROW_MAJOR);
    M(float16_t, 32, 20, A) h = M(float16_t, 32, 20, A)(loaded);
    M(float, 32, 20, Accumulator) m = M(float, 32, 20, Accumulator)(loaded), r;
    coopMatPerElementNV(r, m, map, m, five);
    coopMatStore(r, mapped, 0, 20, ROW_MAJOR);
    coopMatPerElementNV(r, m, ownLane, float(gl_SubgroupInvocationID));
    coopMatStore(r, lanes, 0, 20, ROW_MAJOR);

    M(float16_t, 20, 32, B) t;
    coopMatTransposeNV(t, loaded);
    coopMatStore(coopMatMulAdd(h, t, M(float, 32, 32, Accumulator)(0)), gram, 0, 32, ROW_MAJOR);

    coopMatStore(M(float16_t, 32, 20, B)(m), back, 0, 20, ROW_MAJOR);
    coopMatStore(M(int, 32, 20, Accumulator)(m), ints, 0, 20, ROW_MAJOR);
    coopMatStore(-m / (M(float, 32, 20, Accumulator)(2)), halves, 0, 20, ROW_MAJOR);
    M(float16_t, 32, 20, A) triple = h;
    if (five > one)
        triple = h + h + h;
    coopMatStore(triple, chosen, 0, 20, ROW_MAJOR);
}
