// The IR's integers have no sign; what a conversion of use refuses names the declared ones.
// test translate
// error: of s32, but the result is mat<16x16xi32, subgroup, a> of u32
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
layout(binding = 0) buffer A { int a[]; };
layout(binding = 1) buffer O { uint o[]; };
void main() {
  coopmat<int, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
  coopMatLoad(m, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
  coopmat<uint, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> r = coopmat<uint, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>(m);
  coopMatStore(r, o, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
