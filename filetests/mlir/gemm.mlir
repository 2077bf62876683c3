// Tiles of 16x16x16, f16 times f16 plus f32, each computed by a subgroup, which carries the sum through a loop.
//
// test run
// subgroup 8 32
// dispatch 2 2 1
// in 0.0 f16 gen 32*48 = (i * 7) % 13 - 6
// in 0.1 f16 gen 48*32 = (i * 5) % 11 - 5
// inout 0.2 f32 gen 32*32 = 1 + i % 5
// out 0.2 f32 gen 32*32 = 1 + i % 5 + sum(k, 48, $0.0[div(i, 32) * 48 + k] * $0.1[k * 32 + i % 32])
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @gemm(%a: memref<32x48xf16>, %b: memref<48x32xf16>, %c: memref<32x32xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c48 = arith.constant 48 : index
      %bx = gpu.block_id x
      %by = gpu.block_id y
      %row = arith.muli %by, %c16 : index
      %col = arith.muli %bx, %c16 : index
      %init = gpu.subgroup_mma_load_matrix %c[%row, %col] {leadDimension = 32 : index} : memref<32x32xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
      %sum = scf.for %k = %c0 to %c48 step %c16 iter_args(%acc = %init) -> (!gpu.mma_matrix<16x16xf32, "COp">) {
        %x = gpu.subgroup_mma_load_matrix %a[%row, %k] {leadDimension = 48 : index} : memref<32x48xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
        %y = gpu.subgroup_mma_load_matrix %b[%k, %col] {leadDimension = 32 : index} : memref<48x32xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
        %next = gpu.subgroup_mma_compute %x, %y, %acc : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
        scf.yield %next : !gpu.mma_matrix<16x16xf32, "COp">
      }
      gpu.subgroup_mma_store_matrix %sum, %c[%row, %col] {leadDimension = 32 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<32x32xf32>
      gpu.return
    }
  }
}
