// gpu.rotate as it landed: clusters of `width` lanes rotate among themselves, and the lanes of the first are valid.
//
// test run
// subgroup 16 32
// dispatch 1 1 1
// in 0.0 f32 ramp 16
// out 0.1 f32 gen 16 = div(i, 8) * 8 + (i + 3) % 8
// out 0.2 i32 gen 16 = i < 8 ? 1 : 0
module {
  gpu.module @kernels {
    gpu.func @rotate(%in: memref<16xf32>, %out: memref<16xf32>, %ok: memref<16xi32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
      %i = gpu.thread_id x
      %x = memref.load %in[%i] : memref<16xf32>
      %y, %valid = gpu.rotate %x, 3, 8 : f32
      memref.store %y, %out[%i] : memref<16xf32>
      %v = arith.extui %valid : i1 to i32
      memref.store %v, %ok[%i] : memref<16xi32>
      gpu.return
    }
  }
}
