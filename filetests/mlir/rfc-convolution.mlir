// The RFC's case: a convolution along the rows, four taps, whose tiles of the input overlap. With a load for each tile,
// and with two loads and rotations; both as the plain sum has it.
//
// test run
// subgroup 16 32
// dispatch 3 1 1
// in 0.0 f32 gen 16*4 = (i * 7) % 11 - 5
// in 0.1 f32 gen 4*4*4 = (i * 3) % 7 - 3
// out 0.2 f32 gen 12*4 = sum(t, 4, sum(c, 4, $0.0[(div(i, 4) + t) * 4 + c] * $0.1[t * 16 + c * 4 + i % 4]))
//
// reads 0.1 192
// writes 0.2 48
//
// case four-loads:
// entry loads
// reads 0.0 192
// case two-loads:
// entry rotations
// reads 0.0 96
!a = !gpu.mma_matrix<4x4xf32, "AOp">
!b = !gpu.mma_matrix<4x4xf32, "BOp">
!c = !gpu.mma_matrix<4x4xf32, "COp">
module {
  gpu.module @kernels {
    gpu.func @loads(%in: memref<16x4xf32>, %weights: memref<16x4xf32>, %out: memref<12x4xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0.0 : f32
      %block = gpu.block_id x
      %row = arith.muli %block, %c4 : index
      %start = gpu.subgroup_mma_constant_matrix %zero : !c
      %sum = scf.for %t = %c0 to %c4 step %c1 iter_args(%acc = %start) -> (!c) {
        %at = arith.addi %row, %t : index
        %a = gpu.subgroup_mma_load_matrix %in[%at, %c0] {leadDimension = 4 : index} : memref<16x4xf32> -> !a
        %w = arith.muli %t, %c4 : index
        %b = gpu.subgroup_mma_load_matrix %weights[%w, %c0] {leadDimension = 4 : index} : memref<16x4xf32> -> !b
        %next = gpu.subgroup_mma_compute %a, %b, %acc : !a, !b -> !c
        scf.yield %next : !c
      }
      gpu.subgroup_mma_store_matrix %sum, %out[%row, %c0] {leadDimension = 4 : index} : !c, memref<12x4xf32>
      gpu.return
    }
    gpu.func @rotations(%in: memref<16x4xf32>, %weights: memref<16x4xf32>, %out: memref<12x4xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0.0 : f32
      %block = gpu.block_id x
      %row = arith.muli %block, %c4 : index
      %below = arith.addi %row, %c4 : index
      %x = gpu.subgroup_mma_load_matrix %in[%row, %c0] {leadDimension = 4 : index} : memref<16x4xf32> -> !a
      %y = gpu.subgroup_mma_load_matrix %in[%below, %c0] {leadDimension = 4 : index} : memref<16x4xf32> -> !a
      %start = gpu.subgroup_mma_constant_matrix %zero : !c
      %sum = scf.for %t = %c0 to %c4 step %c1 iter_args(%acc = %start) -> (!c) {
        %offset = arith.muli %t, %c4 : index
        %a = gpu.subgroup_mma_rotate %x, %y, %offset : !a, !a, index -> !a
        %b = gpu.subgroup_mma_load_matrix %weights[%offset, %c0] {leadDimension = 4 : index} : memref<16x4xf32> -> !b
        %next = gpu.subgroup_mma_compute %a, %b, %acc : !a, !b -> !c
        scf.yield %next : !c
      }
      gpu.subgroup_mma_store_matrix %sum, %out[%row, %c0] {leadDimension = 4 : index} : !c, memref<12x4xf32>
      gpu.return
    }
  }
}
