// The legacy dialect: one value in several roles, components, length, arithmetic, conversions, arrays, functions.
//
// test run
// subgroup 4 32
// in 0.0 f16 rand 64 1 -2 2 0.5
// out 0.1 f16 gen 8 x 8 = sum(k, 8, $0.0[r * 8 + k] * $0.0[k * 8 + c]) + $0.0[i]
// out 0.2 f16 gen 64 = -(2 * $0.0[i] + 1)
// out 0.3 i32 gen 64 = trunc($0.0[i] * 4)
// out 0.4 f16 gen 64 = $0.0[i] / 4
// out 0.5 f32 gen 64 = $0.0[i] + 3
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_NV_integer_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { float16_t a[]; };
layout(set = 0, binding = 1) buffer O1 { float16_t o1[]; };
layout(set = 0, binding = 2) buffer O2 { float16_t o2[]; };
layout(set = 0, binding = 3) buffer O3 { int o3[]; };
layout(set = 0, binding = 4) buffer O4 { float16_t o4[]; };
layout(set = 0, binding = 5) buffer O5 { float o5[]; };
#define H fcoopmatNV<16, gl_ScopeSubgroup, 8, 8>
#define F fcoopmatNV<32, gl_ScopeSubgroup, 8, 8>
#define I icoopmatNV<32, gl_ScopeSubgroup, 8, 8>

H twice(H m) { return m + m; }

void main()
{
    H m;
    coopMatLoadNV(m, a, 0, 8, false);
    coopMatStoreNV(coopMatMulAddNV(m, m, m), o1, 0, 8, false);
    H parts[2];
    parts[0] = twice(m);
    parts[1] = H(1.0hf);
    coopMatStoreNV(-(parts[0] + parts[1]), o2, 0, 8, false);
    coopMatStoreNV(I(m * 4.0hf), o3, 0, 8, false);
    coopMatStoreNV(m / H(4.0hf), o4, 0, 8, false);
    F f = F(m);
    for (int i = 0; i < f.length(); ++i)
        f[i] += 3.0;
    coopMatStoreNV(f, o5, 0, 8, false);
}
