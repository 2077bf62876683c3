// What the tests of SPV_QCOM_cooperative_matrix_conversion share: extensions, and short names.
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_QCOM_cooperative_matrix_conversion : require

#define MATRIX(T, ROWS, COLS, USE) coopmat<T, gl_ScopeSubgroup, ROWS, COLS, gl_MatrixUse##USE>
#define ROW_MAJOR gl_CooperativeMatrixLayoutRowMajor
#define COL_MAJOR gl_CooperativeMatrixLayoutColumnMajor
