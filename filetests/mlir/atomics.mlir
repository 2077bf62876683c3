// Atomic operations in a buffer and in memory of the work-group, and numbers that are printed.
//
// test run
// subgroup 8 32
// dispatch 1 1 1
// in 0.0 i32 gen 16 = (i * 5) % 16
// inout 0.1 i32 [0 -1 100]
// out 0.1 i32 [120 15 0]
// printf "last 120 and 0.5"
module {
  gpu.module @kernels {
    gpu.func @main(%in: memref<16xi32>, %out: memref<3xi32>) workgroup(%sum: memref<1xi32, 3>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %zero = arith.constant 0 : i32
      %half = arith.constant 0.5 : f32
      %i = gpu.thread_id x
      %first = arith.cmpi eq, %i, %c0 : index
      scf.if %first {
        memref.store %zero, %sum[%c0] : memref<1xi32, 3>
      }
      gpu.barrier
      %x = memref.load %in[%i] : memref<16xi32>
      %0 = memref.atomic_rmw addi %x, %sum[%c0] : (i32, memref<1xi32, 3>) -> i32
      %1 = memref.atomic_rmw maxs %x, %out[%c1] : (i32, memref<3xi32>) -> i32
      %2 = memref.atomic_rmw minu %x, %out[%c2] : (i32, memref<3xi32>) -> i32
      gpu.barrier
      scf.if %first {
        %s = memref.load %sum[%c0] : memref<1xi32, 3>
        memref.store %s, %out[%c0] : memref<3xi32>
        gpu.printf "last %d and %.1f\n" %s, %half : i32, f32
      }
      gpu.return
    }
  }
}
