// What every rung of the ladder shares: D = A*B + C, where A is M x K, B is K x N, and C and D are M x N.
//
// Preprocessor definitions choose the element types:
//   A_TYPE  of A and B in memory          (float16_t unless given)
//   C_TYPE  of C and D, and of the sums   (float unless given)
// bfloat16_t needs TYPE_BFLOAT16 defined, floate4m3_t TYPE_E4M3, and floate5m2_t TYPE_E5M2.
//
// Every rung works on whole tiles: M, N and K are multiples of the sizes that the rung names.
// A, C and D are row-major. B is row-major, or column-major where B_COL_MAJOR is set.

#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#ifdef TYPE_BFLOAT16
#extension GL_EXT_bfloat16 : require
#endif
#ifdef TYPE_E4M3
#extension GL_EXT_float_e4m3 : require
#endif
#ifdef TYPE_E5M2
#extension GL_EXT_float_e5m2 : require
#endif

#ifndef A_TYPE
#define A_TYPE float16_t
#endif
#ifndef C_TYPE
#define C_TYPE float
#endif

// One matrix: A is lM x lK, B is lK x lN, the sums are lM x lN.
layout(constant_id = 0) const uint lM = 16;
layout(constant_id = 1) const uint lN = 16;
layout(constant_id = 2) const uint lK = 16;
// What one work-group computes, and how far one step goes along K.
layout(constant_id = 3) const uint TILE_M = 64;
layout(constant_id = 4) const uint TILE_N = 64;
layout(constant_id = 5) const uint TILE_K = 16;
layout(constant_id = 6) const bool B_COL_MAJOR = false;
// The size of a work-group.
layout(local_size_x_id = 7, local_size_y_id = 8, local_size_z = 1) in;

// Strides are in elements, from one row to the next, or from one column to the next in a column-major B.
layout(push_constant) uniform Sizes {
    uint K;
    uint strideA;
    uint strideB;
    uint strideC;
    uint strideD;
};

layout(set = 0, binding = 0) readonly buffer InputA { A_TYPE x[]; } inputA;
layout(set = 0, binding = 1) readonly buffer InputB { A_TYPE x[]; } inputB;
layout(set = 0, binding = 2) readonly buffer InputC { C_TYPE x[]; } inputC;
layout(set = 0, binding = 3) writeonly buffer OutputD { C_TYPE x[]; } outputD;

// Where the element of B in row k and column j lies.
uint indexB(uint k, uint j)
{
    return B_COL_MAJOR ? strideB * j + k : strideB * k + j;
}
