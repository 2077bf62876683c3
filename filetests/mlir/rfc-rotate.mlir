// The RFC's 4x4 example: the matrices that begin at 00 and at 40 of an 8x4 one, and those at 10, 20 and 30 made of them.
// By the operation on whole matrices, and by components and lanes as the RFC lowers it.
//
// test run
// subgroup 16
// dispatch 4 1 1
// in 0.0 f32 gen 32 = 10 * div(i, 4) + i % 4
// out 0.1 f32 gen 64 = 10 * (div(i, 16) + div(i % 16, 4)) + i % 4
//
// case proposal-1:
// entry whole
// case proposal-2:
// entry lanes
module {
  gpu.module @kernels {
    gpu.func @whole(%in: memref<8x4xf32>, %out: memref<16x4xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %block = gpu.block_id x
      %row = arith.muli %block, %c4 : index
      %offset = arith.index_cast %row : index to i32
      %a = gpu.subgroup_mma_load_matrix %in[%c0, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !gpu.mma_matrix<4x4xf32, "AOp">
      %b = gpu.subgroup_mma_load_matrix %in[%c4, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !gpu.mma_matrix<4x4xf32, "AOp">
      %r = gpu.subgroup_mma_rotate %a, %b, %offset : !gpu.mma_matrix<4x4xf32, "AOp">, !gpu.mma_matrix<4x4xf32, "AOp">, i32 -> !gpu.mma_matrix<4x4xf32, "AOp">
      gpu.subgroup_mma_store_matrix %r, %out[%row, %c0] {leadDimension = 4 : index} : !gpu.mma_matrix<4x4xf32, "AOp">, memref<16x4xf32>
      gpu.return
    }
    gpu.func @lanes(%in: memref<8x4xf32>, %out: memref<16x4xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0.0 : f32
      %width = arith.constant 16 : i32
      %block = gpu.block_id x
      %row = arith.muli %block, %c4 : index
      %offset = arith.index_cast %row : index to i32
      %a = gpu.subgroup_mma_load_matrix %in[%c0, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !gpu.mma_matrix<4x4xf32, "AOp">
      %b = gpu.subgroup_mma_load_matrix %in[%c4, %c0] {leadDimension = 4 : index} : memref<8x4xf32> -> !gpu.mma_matrix<4x4xf32, "AOp">
      %seed = gpu.subgroup_mma_constant_matrix %zero : !gpu.mma_matrix<4x4xf32, "AOp">
      %x = gpu.subgroup_mma_extract %a[0] : !gpu.mma_matrix<4x4xf32, "AOp"> -> f32
      %y = gpu.subgroup_mma_extract %b[0] : !gpu.mma_matrix<4x4xf32, "AOp"> -> f32
      %id = gpu.lane_id
      %lane = arith.index_cast %id : index to i32
      %is_a = arith.cmpi sge, %lane, %offset : i32
      %chosen = arith.select %is_a, %x, %y : f32
      %rotated = gpu.rotate %chosen, %offset, %width : f32, i32, i32 -> f32
      %r = gpu.subgroup_mma_insert %rotated, %seed[0] : f32, !gpu.mma_matrix<4x4xf32, "AOp"> -> !gpu.mma_matrix<4x4xf32, "AOp">
      gpu.subgroup_mma_store_matrix %r, %out[%row, %c0] {leadDimension = 4 : index} : !gpu.mma_matrix<4x4xf32, "AOp">, memref<16x4xf32>
      gpu.return
    }
  }
}
