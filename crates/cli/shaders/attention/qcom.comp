// Flash attention by conversions: the softmax of a query is ordinary code on an array, for each invocation has one query.
//
// `rows` is a multiple of the subgroup's size, and so is HEAD: matrices are loaded whole.
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#include "../conversion.glsl"
#include "common.glsl"

// Slices of a row of Q and K, and blocks of a row of V and O.
const uint SLICES = HEAD / DEPTH;
const uint BLOCKS = HEAD / COLS;

void main()
{
    const uint firstQuery = ROWS * tileOfQueries();
    const uint query = firstQuery + gl_SubgroupInvocationID;
    const uint start = HEAD * rows * headOfQueries();

    MATRIX_A matQ[SLICES];
    for (uint slice = 0; slice < SLICES; ++slice)
        coopMatLoad(matQ[slice], q, start + HEAD * firstQuery + DEPTH * slice, HEAD, gl_CooperativeMatrixLayoutRowMajor);

    ACCUMULATOR(float, COLS) matO[BLOCKS];
    for (uint block = 0; block < BLOCKS; ++block)
        matO[block] = ACCUMULATOR(float, COLS)(0.0);
    float maximum = LOWEST;
    float sum = 0.0;

    const uint keys = visibleKeys(firstQuery + ROWS);
    for (uint key = 0; key < keys; key += COLS) {
        ACCUMULATOR(float, COLS) matS = ACCUMULATOR(float, COLS)(0.0);
        for (uint slice = 0; slice < SLICES; ++slice) {
            MATRIX_B(COLS) matK;
            coopMatLoad(matK, k, start + HEAD * key + DEPTH * slice, HEAD, gl_CooperativeMatrixLayoutColumnMajor);
            matS = coopMatMulAdd(matQ[slice], matK, matS);
        }

        // The scores of this invocation's query with these keys.
        float scores[COLS];
        coopmatToVectorQCOM(matS, scores);
        float newMaximum = maximum;
        for (uint i = 0; i < COLS; ++i) {
            if (isHidden(query, key + i))
                scores[i] = LOWEST;
            newMaximum = max(newMaximum, scores[i]);
        }
        const float correction = exp2(scale * (maximum - newMaximum));
        maximum = newMaximum;
        float16_t weights[COLS];
        sum *= correction;
        for (uint i = 0; i < COLS; ++i) {
            const float weight = exp2(scale * (scores[i] - maximum));
            sum += weight;
            weights[i] = float16_t(weight);
        }

        // What was summed up to here shrinks, row by row.
        for (uint block = 0; block < BLOCKS; ++block) {
            float row[COLS];
            coopmatToVectorQCOM(matO[block], row);
            for (uint i = 0; i < COLS; ++i)
                row[i] *= correction;
            vectorToCoopmatQCOM(row, matO[block]);
        }

        for (uint slice = 0; slice < COLS / DEPTH; ++slice) {
            float16_t part[DEPTH];
            extractSubArrayQCOM(weights, DEPTH * slice, part);
            MATRIX_A matP;
            vectorToCoopmatQCOM(part, matP);
            for (uint block = 0; block < BLOCKS; ++block) {
                MATRIX_B(COLS) matV;
                coopMatLoad(matV, v, start + HEAD * (key + DEPTH * slice) + COLS * block, HEAD,
                    gl_CooperativeMatrixLayoutRowMajor);
                matO[block] = coopMatMulAdd(matP, matV, matO[block]);
            }
        }
    }

    // Every invocation takes part in a conversion; those without a query write nothing.
    for (uint block = 0; block < BLOCKS; ++block) {
        float row[COLS];
        coopmatToVectorQCOM(matO[block], row);
        if (query < tokens) {
            for (uint i = 0; i < COLS; ++i)
                o[start + HEAD * query + COLS * block + i] = row[i] / sum;
        }
    }
}
