// What the tests of GL_NV_cooperative_matrix2 share.
#include "../coopmat/matrices.glsl"
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define GLUE(x, y) x##y
#define MATRIX_USE(u) GLUE(gl_MatrixUse, u)
