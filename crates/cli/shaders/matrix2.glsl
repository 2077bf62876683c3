// What the kernels in the dialect GL_NV_cooperative_matrix2 share.
//
// SCOPE says who holds a matrix together: gl_ScopeWorkgroup, or gl_ScopeSubgroup in work-groups of one subgroup.

#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_buffer_reference : require

#ifndef SCOPE
#define SCOPE gl_ScopeWorkgroup
#endif

#define MATRIX_A(type, rows, columns) coopmat<type, SCOPE, rows, columns, gl_MatrixUseA>
#define MATRIX_B(type, rows, columns) coopmat<type, SCOPE, rows, columns, gl_MatrixUseB>
#define ACCUMULATOR(type, rows, columns) coopmat<type, SCOPE, rows, columns, gl_MatrixUseAccumulator>

// Where a tile reaches beyond its tensor, loads give zeros, and stores do nothing.
#define ZEROS_OUTSIDE gl_CooperativeMatrixClampModeConstantNV
