// The second rung: each subgroup, which is a work-group of its own, computes one matrix of the result.
//
// The arithmetic is now whole matrices, but each step along K still loads as much as it multiplies.
// M, N and K are multiples of lM, lN and lK. The work-group is one subgroup.
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

const int LAYOUT_B =
    B_COL_MAJOR ? gl_CooperativeMatrixLayoutColumnMajor : gl_CooperativeMatrixLayoutRowMajor;

void main()
{
    uint row = lM * gl_WorkGroupID.y;
    uint column = lN * gl_WorkGroupID.x;

    coopmat<A_TYPE, gl_ScopeSubgroup, lM, lK, gl_MatrixUseA> matA;
    coopmat<A_TYPE, gl_ScopeSubgroup, lK, lN, gl_MatrixUseB> matB;
    coopmat<C_TYPE, gl_ScopeSubgroup, lM, lN, gl_MatrixUseAccumulator> matC;

    coopMatLoad(matC, inputC.x, strideC * row + column, strideC, gl_CooperativeMatrixLayoutRowMajor);
    for (uint k = 0; k < K; k += lK) {
        coopMatLoad(matA, inputA.x, strideA * row + k, strideA, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(matB, inputB.x, indexB(k, column), strideB, LAYOUT_B);
        matC = coopMatMulAdd(matA, matB, matC);
    }
    coopMatStore(matC, outputD.x, strideD * row + column, strideD, gl_CooperativeMatrixLayoutRowMajor);
}
