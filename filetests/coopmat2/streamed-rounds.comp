// Loops that multiply twice in a round, the second time what they computed of the first product, as attention does: a factor
// that stays, conditions of several parts in the function for an element, rows whose columns are all the same, sums of rows,
// and rounds of which the last one is cut off or that are none, or that are left with a factor loaded.
//
// test run
// define INVOCATIONS THREADS
// define KIND WAY
// spec 0=M 1=T
// push u32 [DEPTH FIRST]
// in 0.0 f16 rand 8192 1 -1 2 1
// in 0.1 f16 rand 16384 2 -1 2 1
// in 0.2 f16 rand 16384 3 -2 3 1
// out 0.3 f32 8192 same
// keys THREADS=128 WAY=0 M=64 T=32 DEPTH=160 FIRST=40
// case plain:
// case groups: THREADS=256 M=128
// case blocks: M=128
// case ragged: THREADS=256 M=128 DEPTH=150
// case one-round: THREADS=256 M=128 DEPTH=32
// case no-round: THREADS=256 M=128 DEPTH=0
// case looked-at-first: THREADS=256 M=128 WAY=1
// case looked-at-last: THREADS=256 M=128 WAY=2
// case left-inside: THREADS=256 M=128 WAY=3
// case twice: THREADS=256 M=128 WAY=4
// case left-behind: THREADS=256 M=128 WAY=5
// case loaded-together: THREADS=256 M=128 WAY=6
#version 460
#include "matrices2.glsl"

layout(local_size_x = INVOCATIONS) in;
layout(constant_id = 0) const uint M = 64;
layout(constant_id = 1) const uint T = 32;
layout(push_constant) uniform Sizes { uint depth; uint first; };
layout(set = 0, binding = 0) readonly buffer I0 { float16_t q[]; };
layout(set = 0, binding = 1) readonly buffer I1 { float16_t k[]; };
layout(set = 0, binding = 2) readonly buffer I2 { float16_t v[]; };
layout(set = 0, binding = 3) buffer O3 { float sums[]; };
#define ZEROS gl_CooperativeMatrixClampModeConstantNV
#define MAT(T, R, C, U) coopmat<T, gl_ScopeWorkgroup, R, C, gl_MatrixUse##U>
const uint WIDTH = 64;
const uint NARROW = 16;

float larger(const in float x, const in float y) { return max(x, y); }

float add(const in float x, const in float y) { return x + y; }

float largerOfBoth(const in uint32_t row, const in uint32_t column, const in float x, const in float y) { return max(x, y); }

// What does not count is little: elements behind the last of the depth and, of some rows, all from a place on.
float hide(const in uint32_t row, const in uint32_t column, const in float x, const in uint32_t at)
{
    return at + column >= depth || (row > first && at + column > row) ? -16.0 : x;
}

// Small whole numbers, so that nothing is rounded.
float weigh(const in uint32_t row, const in uint32_t column, const in float x, const in float most)
{
    return max(x - most, -4.0);
}

float shrink(const in uint32_t row, const in uint32_t column, const in float old, const in float most)
{
    return most > old ? 0.5 : 1.0;
}

tensorLayoutNV<2, ZEROS> rows(uint count)
{
    return setTensorLayoutDimensionNV(createTensorLayoutNV(2, ZEROS), count, WIDTH);
}

void main()
{
    const tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
    MAT(float16_t, M, WIDTH, A) matQ;
    coopMatLoadTensorNV(matQ, q, 0, sliceTensorLayoutNV(rows(M - 3), 0, M, 0, WIDTH));
    MAT(float, M, WIDTH, Accumulator) result = MAT(float, M, WIDTH, Accumulator)(KIND == 2 ? 3.0 : 0.0);
    MAT(float, M, NARROW, Accumulator) maxima = MAT(float, M, NARROW, Accumulator)(-16.0);
    MAT(float, M, NARROW, Accumulator) weights = MAT(float, M, NARROW, Accumulator)(0.0);
    for (uint again = 0; again < (KIND >= 4 ? 2 : 1); again++) {
        for (uint at = 0; at < depth; at += T) {
            const tensorLayoutNV<2, ZEROS> step = sliceTensorLayoutNV(rows(depth), at, T, 0, WIDTH);
            MAT(float16_t, WIDTH, T, B) matK;
            coopMatLoadTensorNV(matK, k, 0, step, turned);
            MAT(float16_t, T, WIDTH, B) matV;
            if (KIND == 6)
                coopMatLoadTensorNV(matV, v, 0, step);
            MAT(float, M, T, Accumulator) scores = MAT(float, M, T, Accumulator)(0.0);
            if (KIND == 1)
                result = result * 0.5;
            scores = coopMatMulAdd(matQ, matK, scores);
            if (at + T > depth || at + T > first)
                coopMatPerElementNV(scores, scores, hide, at);
            MAT(float, M, NARROW, Accumulator) most, correction;
            coopMatReduceNV(most, scores, gl_CooperativeMatrixReduceRowNV, larger);
            coopMatPerElementNV(most, most, largerOfBoth, maxima);
            coopMatPerElementNV(correction, maxima, shrink, most);
            maxima = most;
            MAT(float, M, T, Accumulator) wideMost;
            MAT(float, M, WIDTH, Accumulator) wideCorrection;
            coopMatReduceNV(wideMost, maxima, gl_CooperativeMatrixReduceRowNV, larger);
            coopMatReduceNV(wideCorrection, correction, gl_CooperativeMatrixReduceRowNV, larger);
            coopMatPerElementNV(scores, scores, weigh, wideMost);
            MAT(float, M, NARROW, Accumulator) newWeights;
            coopMatReduceNV(newWeights, scores, gl_CooperativeMatrixReduceRowNV, add);
            weights = weights * correction + newWeights;
            if (KIND == 3 && at > first)
                break;
            if (KIND != 6)
                coopMatLoadTensorNV(matV, v, 0, step);
            if (KIND >= 5 && at > first)
                break;
            result = coopMatMulAdd(MAT(float16_t, M, T, A)(scores), matV, result * wideCorrection);
        }
        if (KIND >= 4)
            result = result * 0.5;
    }
    MAT(float, M, WIDTH, Accumulator) wideMaxima, wideWeights;
    coopMatReduceNV(wideMaxima, maxima, gl_CooperativeMatrixReduceRowNV, larger);
    coopMatReduceNV(wideWeights, weights, gl_CooperativeMatrixReduceRowNV, larger);
    coopMatStoreTensorNV(result + wideMaxima + wideWeights, sums, 0, sliceTensorLayoutNV(rows(M), 0, M, 0, WIDTH));
}
