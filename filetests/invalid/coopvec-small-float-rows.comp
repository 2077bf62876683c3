// Matrices of 8-bit floats have no layout that a program could name (VUID 10090).
// test translate
// error: a matrix of e4m3 in the layout row_major, expected an optimal one
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
layout(binding = 0) buffer A { float16_t a[]; };
layout(binding = 1) buffer B { int8_t b[]; };
const int F16 = gl_ComponentTypeFloat16NV, ROWS = gl_CooperativeVectorMatrixLayoutRowMajorNV;
void main() {
  coopvecNV<float16_t, 4> v = coopvecNV<float16_t, 4>(a[0]);
  coopvecNV<float16_t, 8> r;
  coopVecMatMulNV(r, v, gl_ComponentTypeFloatE4M3NV, b, 0, gl_ComponentTypeFloatE4M3NV, 8, 4, ROWS, false, 16);
  coopVecStoreNV(r, a, 0);
}
