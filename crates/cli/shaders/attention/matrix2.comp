// Flash attention with reductions, operations on elements and conversions of matrices.
//
// A work-group takes QUERIES queries of a head and goes through the keys, KEYS at a time: the scores and their
// exponentials are QUERIES x KEYS, the result is QUERIES x HEAD. What there is one number of for each query is in
// narrow matrices, whose columns are all the same: a reduction of rows makes as many columns as it is asked for, and of
// a narrow matrix as wide a one as something else needs it to be.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#include "../matrix2.glsl"
#include "common.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 3) const uint QUERIES = 64;
layout(constant_id = 4) const uint KEYS = 64;

// As narrow as matrices are on every device.
const uint NARROW = 16;
#define SCORES_F32 ACCUMULATOR(float, QUERIES, KEYS)
#define RESULT_F32 ACCUMULATOR(float, QUERIES, HEAD)
#define NARROW_F32 ACCUMULATOR(float, QUERIES, NARROW)

// How far the largest score may be above what is subtracted from all of a row, before exponentials are powers of two. So
// weights are at most 2^8, which halves hold as well, and the result hardly ever has to shrink: it shrinks by 1.
const float SLACK = 8.0;

float larger(const in float x, const in float y)
{
    return max(x, y);
}

float add(const in float x, const in float y)
{
    return x + y;
}

// The largest score, if it is far above what was subtracted before.
float raised(const in uint32_t row, const in uint32_t column, const in float x, const in float before)
{
    return scale * (x - before) > SLACK ? x : before;
}

// Hides what must not be seen of the scores of the tile that starts at a query and a key.
float hide(const in uint32_t row, const in uint32_t column, const in float score, const in uint32_t query,
    const in uint32_t key)
{
    return isHidden(query + row, key + column) ? LOWEST : score;
}

// exp(scale * (x - y)): exactly 1 where both are the same.
float shrinking(const in uint32_t row, const in uint32_t column, const in float x, const in float y)
{
    return exp2(scale * (x - y));
}

// The same, where y is the same for a row: so the second product is computed once for it.
float exponential(const in uint32_t row, const in uint32_t column, const in float x, const in float y)
{
    return exp2(scale * x - scale * y);
}

void main()
{
    const uint query = QUERIES * tileOfQueries();
    const uint start = HEAD * rows * headOfQueries();

    tensorLayoutNV<2, ZEROS_OUTSIDE> tokensByHead = createTensorLayoutNV(2, ZEROS_OUTSIDE);
    tokensByHead = setTensorLayoutDimensionNV(tokensByHead, tokens, HEAD);
    // K is loaded as its transpose.
    const tensorViewNV<2, false, 1, 0> transposed = createTensorViewNV(2, false, 1, 0);

    MATRIX_A(float16_t, QUERIES, HEAD) matQ;
    coopMatLoadTensorNV(matQ, q, start, sliceTensorLayoutNV(tokensByHead, query, QUERIES, 0, HEAD));

    RESULT_F32 result = RESULT_F32(0.0);
    NARROW_F32 maxima = NARROW_F32(LOWEST);
    NARROW_F32 sums = NARROW_F32(0.0);

    const uint keys = visibleKeys(query + QUERIES);
    for (uint key = 0; key < keys; key += KEYS) {
        const tensorLayoutNV<2, ZEROS_OUTSIDE> step = sliceTensorLayoutNV(tokensByHead, key, KEYS, 0, HEAD);
        MATRIX_B(float16_t, HEAD, KEYS) matK;
        coopMatLoadTensorNV(matK, k, start, step, transposed);
        SCORES_F32 scores = coopMatMulAdd(matQ, matK, SCORES_F32(0.0));
        if (key + KEYS > tokens || (CAUSAL && key + KEYS > query + 1))
            coopMatPerElementNV(scores, scores, hide, query, key);

        NARROW_F32 newMaxima, correction, newSums;
        coopMatReduceNV(newMaxima, scores, gl_CooperativeMatrixReduceRowNV, larger);
        coopMatPerElementNV(newMaxima, newMaxima, raised, maxima);
        coopMatPerElementNV(correction, maxima, shrinking, newMaxima);
        maxima = newMaxima;

        // Columns of a row are the same: the largest of them is each of them.
        SCORES_F32 wideMaxima;
        RESULT_F32 wideCorrection;
        coopMatReduceNV(wideMaxima, maxima, gl_CooperativeMatrixReduceRowNV, larger);
        coopMatReduceNV(wideCorrection, correction, gl_CooperativeMatrixReduceRowNV, larger);
        coopMatPerElementNV(scores, scores, exponential, wideMaxima);
        coopMatReduceNV(newSums, scores, gl_CooperativeMatrixReduceRowNV, add);
        sums = sums * correction + newSums;

        MATRIX_B(float16_t, KEYS, HEAD) matV;
        coopMatLoadTensorNV(matV, v, start, step);
        // What was an accumulator becomes a factor, of another type.
        result = coopMatMulAdd(MATRIX_A(float16_t, QUERIES, KEYS)(scores), matV, result * wideCorrection);
    }

    // One division for a query, not one for each of its results.
    RESULT_F32 wideInverse;
    coopMatReduceNV(wideInverse, NARROW_F32(1.0) / sums, gl_CooperativeMatrixReduceRowNV, larger);
    coopMatStoreTensorNV(result * wideInverse, o, start, sliceTensorLayoutNV(tokensByHead, query, QUERIES, 0, HEAD));
}
