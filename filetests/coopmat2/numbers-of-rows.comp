// What there is one number of for each row, in matrices as wide as those that it is for, or narrow: largest elements and sums of
// rows from round to round, as attention has them. The sums are those of a reduction, or of a product with ones; what shrinks
// mostly shrinks by one. How many rounds there are is known, or not. All numbers are such that no order of additions changes any.
//
// Some are looked at as wide matrices after all: stored, or by a function that knows the column, or as a component.
//
// test run
// define KIND WAY
// define SCOPE WHO
// define R ROWS
// define C COLUMNS
// define W WIDTH
// define T TYPE
// define ROUNDS TIMES
// subgroup LANES
// in 0.0 f16 rand 4096 1 -2 2 1
// in 0.1 f16 rand 16384 2 -2 2 1
// in 0.2 f16 rand 16384 3 -2 2 1
// out 0.3 f32 8192 same
// out 0.4 f32 8192 same
// out 0.5 f32 8192 same
// keys WAY=0 WHO=gl_ScopeSubgroup ROWS=32 COLUMNS=64 WIDTH=64 TYPE=float LANES=32 TIMES=4*gl_NumWorkGroups.x
// case wide:
// case ones: WAY=1
// case unrolled: TIMES=4
// case unrolled-ones: TIMES=4 WAY=1 TYPE=float16_t
// case ones-in-halves: WAY=1 TYPE=float16_t
// case stored: WAY=2
// case by-columns: WAY=3
// case components: WAY=4
// case branches: WAY=5
// case narrow: WIDTH=16
// case narrow-ones: WIDTH=16 WAY=1
// case lanes-16: LANES=16 WAY=1
// case lanes-8: LANES=8
// case short-rows: COLUMNS=16 WIDTH=16 WAY=1
// case shorter-rows: COLUMNS=32 WIDTH=32 TYPE=float16_t
// case no-power: COLUMNS=48 WIDTH=48 WAY=1
// case few-rows: ROWS=8 WAY=1
// case group: WHO=gl_ScopeWorkgroup
// case group-ones: WHO=gl_ScopeWorkgroup WAY=1 TYPE=float16_t
// case group-branches: WHO=gl_ScopeWorkgroup WAY=5
#version 460
#include "matrices2.glsl"

layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer I0 { float16_t q[]; };
layout(set = 0, binding = 1) readonly buffer I1 { float16_t k[]; };
layout(set = 0, binding = 2) readonly buffer I2 { float16_t v[]; };
layout(set = 0, binding = 3) buffer O3 { float results[]; };
layout(set = 0, binding = 4) buffer O4 { float tops[]; };
layout(set = 0, binding = 5) buffer O5 { float sums[]; };
#define MAT(T, R, C, U) coopmat<T, SCOPE, R, C, gl_MatrixUse##U>

float larger(const in float x, const in float y) { return max(x, y); }
float added(const in float x, const in float y) { return x + y; }
float first(const in float x, const in float y) { return x; }
float larger_at(const in uint32_t r, const in uint32_t c, const in float x, const in float y) { return max(x, y); }
float weight(const in uint32_t r, const in uint32_t c, const in float d) { return max(8.0 + d, 0.0); }
float shrinking(const in uint32_t r, const in uint32_t c, const in float d) { return d < 0.0 ? 0.5 : 1.0; }
float odd(const in uint32_t r, const in uint32_t c, const in float x) { return c % 2 == 1 ? x + 1.0 : x; }
float row_only(const in uint32_t r, const in uint32_t c, const in float x) { return r % 3 == 1 ? x : x + 0.0; }

void main()
{
    if (gl_SubgroupID != 0 && SCOPE == gl_ScopeSubgroup)
        return;
    MAT(float16_t, R, 16, A) left;
    coopMatLoad(left, q, 0, 16, ROW_MAJOR);
    MAT(T, R, 64, Accumulator) result = MAT(T, R, 64, Accumulator)(T(0.0));
    MAT(float, R, W, Accumulator) top = MAT(float, R, W, Accumulator)(-1000.0);
    MAT(float, R, W, Accumulator) sum = MAT(float, R, W, Accumulator)(0.0);
    const uint rounds = ROUNDS;
    for (uint j = 0; j < rounds; ++j) {
        MAT(float16_t, 16, C, B) right;
        coopMatLoad(right, k, j * 2048, C, ROW_MAJOR);
        MAT(float, R, C, Accumulator) scores = coopMatMulAdd(left, right, MAT(float, R, C, Accumulator)(0.0));
        MAT(float, R, W, Accumulator) now, shrink, add;
        coopMatReduceNV(now, scores, gl_CooperativeMatrixReduceRowNV, larger);
        now = now + MAT(float, R, W, Accumulator)(2.0);
        MAT(float, R, W, Accumulator) before = top;
        coopMatPerElementNV(top, now, larger_at, before);
        if (KIND == 3)
            coopMatPerElementNV(top, top, odd);
        if (KIND == 5 && j % 2 == 1)
            coopMatPerElementNV(top, top, row_only);
        coopMatPerElementNV(shrink, before - top, shrinking);
        MAT(float, R, C, Accumulator) wide, weights;
        coopMatReduceNV(wide, top, gl_CooperativeMatrixReduceRowNV, larger);
        coopMatPerElementNV(weights, scores - wide, weight);
        MAT(float16_t, R, C, A) factors = MAT(float16_t, R, C, A)(weights);
        if (KIND == 1 || KIND == 4) {
            MAT(float16_t, C, W, B) ones = MAT(float16_t, C, W, B)(float16_t(1.0));
            add = coopMatMulAdd(factors, ones, MAT(float, R, W, Accumulator)(0.0));
        } else {
            coopMatReduceNV(add, weights, gl_CooperativeMatrixReduceRowNV, added);
        }
        if (KIND == 4) {
            // All components, whosever they are, but not as a function of elements.
            for (int i = int(add.length()) - 1; i >= 0; --i)
                add[i] = add[i] * 2.0;
        }
        sum = shrink * sum + add;
        if (KIND == 2)
            coopMatStore(top, tops, 0, W, ROW_MAJOR);

        MAT(float16_t, C, 64, B) values;
        coopMatLoad(values, v, j * 4096, 64, ROW_MAJOR);
        MAT(float, R, 64, Accumulator) diagonal;
        coopMatReduceNV(diagonal, shrink, gl_CooperativeMatrixReduceRowNV, first);
        result *= MAT(T, R, 64, Accumulator)(diagonal);
        result = coopMatMulAdd(factors, values, result);
    }
    coopMatStore(MAT(float, R, 64, Accumulator)(result), results, 0, 64, ROW_MAJOR);
    if (KIND != 2)
        coopMatStore(top, tops, 0, W, ROW_MAJOR);
    coopMatStore(sum, sums, 0, W, ROW_MAJOR);
}
