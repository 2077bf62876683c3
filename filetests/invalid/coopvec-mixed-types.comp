// Floats are not multiplied by integers.
// test translate
// error: an input of f16 as f16, a matrix of s8 and a result of f16
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
  coopVecMatMulNV(r, v, F16, b, 0, gl_ComponentTypeSignedInt8NV, 8, 4, ROWS, false, 16);
  coopVecStoreNV(r, a, 0);
}
