// Where an invocation stands, and how many there are.
//
// test run
// subgroup 8
// dispatch 3 2 1
// out 0.0 i32 gen 6 x 24 = r % 3 * 10 + div(r, 3)
// out 0.1 i32 gen 6 x 24 = 32
// out 0.2 i32 gen 6 x 24 = div(c, 8) * 100 + c % 8
// out 0.3 i32 gen 6 x 24 = 308
module {
  gpu.module @kernels {
    gpu.func @main(%blocks: memref<6x24xi32>, %grid: memref<6x24xi32>, %lanes: memref<6x24xi32>, %counts: memref<6x24xi32>) kernel attributes {known_block_size = array<i32: 24, 1, 1>} {
      %c3 = arith.constant 3 : index
      %c10 = arith.constant 10 : index
      %c100 = arith.constant 100 : index
      %t = gpu.thread_id x
      %x = gpu.block_id x
      %y = gpu.block_id y
      %row = affine.apply affine_map<(x, y) -> (x + y * 3)>(%x, %y)

      %tens = arith.muli %x, %c10 : index
      %block = arith.addi %tens, %y : index
      %block32 = arith.index_cast %block : index to i32
      memref.store %block32, %blocks[%row, %t] : memref<6x24xi32>

      %gx = gpu.grid_dim x
      %gy = gpu.grid_dim y
      %gz = gpu.grid_dim z
      %gx10 = arith.muli %gx, %c10 : index
      %sum = arith.addi %gx10, %gy : index
      %product = arith.muli %sum, %gz : index
      %grid32 = arith.index_cast %product : index to i32
      memref.store %grid32, %grid[%row, %t] : memref<6x24xi32>

      %s = gpu.subgroup_id : index
      %l = gpu.lane_id
      %s100 = arith.muli %s, %c100 : index
      %lane = arith.addi %s100, %l : index
      %lane32 = arith.index_cast %lane : index to i32
      memref.store %lane32, %lanes[%row, %t] : memref<6x24xi32>

      %n = gpu.num_subgroups : index
      %w = gpu.subgroup_size : index
      %n100 = arith.muli %n, %c100 : index
      %count = arith.addi %n100, %w : index
      %count32 = arith.index_cast %count : index to i32
      memref.store %count32, %counts[%row, %t] : memref<6x24xi32>
      gpu.return
    }
  }
}
