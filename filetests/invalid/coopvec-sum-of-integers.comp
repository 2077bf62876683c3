// Sums are of floats.
// test translate
// error: expected a vector of f16 or f32
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
  coopVecReduceSumAccumulateNV(coopvecNV<int, 4>(v), b, 0);
  coopVecStoreNV(r, a, 0);
}
