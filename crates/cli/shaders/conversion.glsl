// What the kernels in the dialect GL_QCOM_cooperative_matrix_conversion share.
//
// Each invocation of the subgroup holds a row of a matrix, or a column of a B, in an ordinary array, works on it, and
// gives it to the matrix: what else would be staged through shared memory.

#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_QCOM_cooperative_matrix_conversion : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require

// One row for each invocation: the size of the subgroup.
layout(constant_id = 0) const uint ROWS = 32;
// An accumulator has as many columns; half and a quarter of them are allowed, too.
const uint COLS = ROWS;
// A row of A and a column of B are 32 bytes in this dialect.
const uint DEPTH = 16;

// A work-group is one subgroup.
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;

#define MATRIX_A coopmat<float16_t, gl_ScopeSubgroup, ROWS, DEPTH, gl_MatrixUseA>
#define MATRIX_B(columns) coopmat<float16_t, gl_ScopeSubgroup, DEPTH, columns, gl_MatrixUseB>
#define ACCUMULATOR(type, columns) coopmat<type, gl_ScopeSubgroup, ROWS, columns, gl_MatrixUseAccumulator>
