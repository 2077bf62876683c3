// Vectors of two dimensions: a tile that is read and written as a whole, and a row of it.
//
// test run
// subgroup 8 32
// dispatch 1 1 1
// in 0.0 f32 ramp 64
// out 0.1 f32 gen 16 = 2 * (8 * (2 + div(i, 4)) + 3 + i % 4)
// out 0.2 f32 gen 4 = 8 * 4 + 3 + i
module {
  gpu.module @kernels {
    gpu.func @main(%in: memref<8x8xf32>, %out: memref<4x4xf32>, %row: memref<4xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %zero = arith.constant 0.0 : f32
      %x = vector.transfer_read %in[%c2, %c3], %zero {in_bounds = [true, true]} : memref<8x8xf32>, vector<4x4xf32>
      %y = arith.addf %x, %x : vector<4x4xf32>
      vector.transfer_write %y, %out[%c0, %c0] {in_bounds = [true, true]} : vector<4x4xf32>, memref<4x4xf32>
      %z = vector.extract %x[2] : vector<4xf32> from vector<4x4xf32>
      vector.store %z, %row[%c0] : memref<4xf32>, vector<4xf32>
      gpu.return
    }
  }
}
