// Shuffles with their valid bit, reductions over subgroups, clusters and work-groups, by an operation and by a region.
//
// test run
// subgroup 8
// dispatch 1 1 1
// in 0.0 i32 gen 24 = i
// out 0.1 i32 gen 24 = i % 8 >= 6 ? -1 : i + 2
// out 0.2 i32 gen 24 = sum(k, 8, div(i, 8) * 8 + k)
// out 0.3 i32 gen 24 = sum(k, 4, div(i, 4) * 4 + k)
// out 0.4 i32 gen 24 = 276
// out 0.5 i32 gen 24 = 276 + 23
// out 0.6 f32 gen 24 = 23
module {
  gpu.module @kernels {
    gpu.func @main(%in: memref<24xi32>, %down: memref<24xi32>, %all: memref<24xi32>, %four: memref<24xi32>, %group: memref<24xi32>, %body: memref<24xi32>, %last: memref<24xf32>) kernel attributes {known_block_size = array<i32: 24, 1, 1>} {
      %i = gpu.thread_id x
      %x = memref.load %in[%i] : memref<24xi32>
      %two = arith.constant 2 : i32
      %eight = arith.constant 8 : i32
      %none = arith.constant -1 : i32
      %y, %valid = gpu.shuffle down %x, %two, %eight : i32
      %d = arith.select %valid, %y, %none : i32
      memref.store %d, %down[%i] : memref<24xi32>
      %s = gpu.subgroup_reduce add %x : (i32) -> i32
      memref.store %s, %all[%i] : memref<24xi32>
      %f = gpu.subgroup_reduce add %x cluster(size = 4) : (i32) -> i32
      memref.store %f, %four[%i] : memref<24xi32>
      %g = gpu.all_reduce add %x uniform {} : (i32) -> i32
      memref.store %g, %group[%i] : memref<24xi32>
      %b = gpu.all_reduce %x uniform {
      ^bb(%p: i32, %q: i32):
        %r = arith.addi %p, %q : i32
        gpu.yield %r : i32
      } : (i32) -> i32
      %m = gpu.all_reduce maxsi %x uniform {} : (i32) -> i32
      %t = arith.addi %b, %m : i32
      memref.store %t, %body[%i] : memref<24xi32>
      %xf = arith.sitofp %x : i32 to f32
      %mf = gpu.all_reduce maximumf %xf uniform {} : (f32) -> f32
      memref.store %mf, %last[%i] : memref<24xf32>
      gpu.return
    }
  }
}
