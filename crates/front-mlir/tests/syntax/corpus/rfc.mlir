// The operations of the RFC in its own form, and what became of them.
!a = !gpu.mma_matrix<4x4xf32, "AOp">
gpu.module @rotations {
  gpu.func @whole(%m: memref<8x4xf32>, %out: memref<4x4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %offset = arith.constant 4 : i32
    %0 = gpu.subgroup_mma_load_matrix %m[%c0, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !a
    %1 = gpu.subgroup_mma_load_matrix %m[%c4, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !a
    %2 = gpu.subgroup_mma_rotate %0, %1, %offset : !gpu.mma_matrix<4x4xf32, "AOp">, !gpu.mma_matrix<4x4xf32, "AOp">, i32 -> !gpu.mma_matrix<4x4xf32, "AOp">
    gpu.subgroup_mma_store_matrix %2, %out[%c0, %c0] {leadDimension = 4 : index} : !a, memref<4x4xf32>
    gpu.return
  }
  gpu.func @parts(%m: !a, %n: !a, %offset: i32, %width: i32, %i: index) {
    %0 = gpu.subgroup_mma_extract %m[0] : !a -> f32
    %1 = gpu.rotate %0, %offset, %width : f32, i32, i32 -> f32
    %2 = gpu.subgroup_mma_insert %1, %n[0] : f32, !a -> !a
    %3 = gpu.subgroup_mma_extract_thread_local %2[%i] : !a -> f32
    %4, %valid = gpu.rotate %3, 4, 16 : f32
    %5 = gpu.subgroup_mma_insert_thread_local %4, %2[%i] : f32, !a -> !a
    gpu.return
  }
}
