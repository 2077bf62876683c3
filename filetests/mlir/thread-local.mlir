// Components of a matrix by the names that landed upstream: component i of lane l is the row-major element i * 16 + l.
//
// test run
// subgroup 16
// dispatch 1 1 1
// in 0.0 f32 ramp 256
// out 0.1 f32 gen 16 = 48 + i
// out 0.2 f32 gen 256 = div(i, 16) == 3 ? -i : i
#form = #spirv.target_env<#spirv.vce<v1.6, [Shader, CooperativeMatrixKHR], [SPV_KHR_cooperative_matrix]>, #spirv.resource_limits<>>
module attributes {spirv.target_env = #form} {
  gpu.module @kernels {
    gpu.func @main(%in: memref<16x16xf32>, %out: memref<16xf32>, %all: memref<16x16xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %l = gpu.lane_id
      %m = gpu.subgroup_mma_load_matrix %in[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
      %x = gpu.subgroup_mma_extract_thread_local %m[%c3] : !gpu.mma_matrix<16x16xf32, "COp"> -> f32
      memref.store %x, %out[%l] : memref<16xf32>
      %y = arith.negf %x : f32
      %r = gpu.subgroup_mma_insert_thread_local %y, %m[%c3] : f32, !gpu.mma_matrix<16x16xf32, "COp"> -> !gpu.mma_matrix<16x16xf32, "COp">
      gpu.subgroup_mma_store_matrix %r, %all[%c0, %c0] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32>
      gpu.return
    }
  }
}
