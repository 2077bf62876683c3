// Loops over arrays of matrices are unrolled, the variables are gone, and what is left is a run of multiply-adds.
//
// test print optimized
#version 460
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Data { float x[]; };

void main()
{
    coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseA> a[2];
    coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseB> b;
    coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator> c[2];
    coopMatLoad(b, x, 0, 8, 0);
    for (int i = 0; i < 2; ++i) {
        coopMatLoad(a[i], x, 64 * i, 8, 0);
        c[i] = coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator>(0.0);
    }
    for (int i = 0; i < 2; ++i)
        c[i] = coopMatMulAdd(a[i], b, c[i]);
    for (int i = 0; i < 2; ++i)
        coopMatStore(c[i], x, 64 * i, 8, 0);
}

// output:
// kernel "main"
// workgroup_size 32 1 1
// subgroup_size 32
// binding buf0 = 0.0 storage writable "Data"
//
// {
//   %0: i32 = const 0
//   %1: i64 = const 32
//   %2: f32 = const 0.0
//   %3: ptr<buffer> = buffer_ptr<buf0> %0
//   %4: mat<8x8xf32, subgroup, b> = mat_load %3, %1
//   %5: mat<8x8xf32, subgroup, a> = mat_load %3, %1
//   %6: mat<8x8xf32, subgroup, acc> = mat_splat %2
//   %7: ptr<buffer> = ptr_add<disp=256> %3
//   %8: mat<8x8xf32, subgroup, a> = mat_load %7, %1
//   %9: mat<8x8xf32, subgroup, acc> = mat_splat %2
//   %10: mat<8x8xf32, subgroup, acc> = mat_mul_add %5, %4, %6
//   %11: mat<8x8xf32, subgroup, acc> = mat_mul_add %8, %4, %9
//   mat_store %3, %10, %1
//   %12: ptr<buffer> = ptr_add<disp=256> %3
//   mat_store %12, %11, %1
// }
