// Views of memory: subview with dimensions left out, strides, casts, reinterpretation, collapse and expansion; maps of
// affine.
//
// test run
// subgroup 8 32
// dispatch 1 1 1
// in 0.0 i32 ramp 64
// out 0.1 i32 gen 8 = 8 * (2 + div(i, 4) * 2) + 1 + i % 4
// out 0.2 i32 gen 8 = 24 + i
// out 0.3 i32 gen 8 = 5 + 2 * i
// out 0.4 i32 gen 8 = 9 * i
// out 0.5 i32 gen 8 = i * 8 + 3
// out 0.6 i32 gen 8 = i >= 2 && i % 2 == 0 ? div(i + 5, 3) + (i + 7) % 4 : min(i, 3)
#map = affine_map<(d0) -> ((d0 + 5) floordiv 3 + (d0 + 7) mod 4)>
#least = affine_map<(d0)[s0] -> (d0, s0)>
#set = affine_set<(d0) : (d0 - 2 >= 0, d0 mod 2 == 0)>
module {
  gpu.module @kernels {
    gpu.func @main(%in: memref<8x8xi32>, %part: memref<8xi32>, %row: memref<8xi32>, %other: memref<8xi32>, %flat: memref<8xi32>, %column: memref<8xi32>, %mapped: memref<8xi32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c9 = arith.constant 9 : index
      %i = gpu.thread_id x
      %a = memref.subview %in[2, 1] [2, 4] [2, 1] : memref<8x8xi32> to memref<2x4xi32, strided<[16, 1], offset: 17>>
      %r = arith.divui %i, %c4 : index
      %c = arith.remui %i, %c4 : index
      %x0 = memref.load %a[%r, %c] : memref<2x4xi32, strided<[16, 1], offset: 17>>
      memref.store %x0, %part[%i] : memref<8xi32>
      %b = memref.subview %in[%c3, 0] [1, 8] [1, 1] : memref<8x8xi32> to memref<8xi32, strided<[1], offset: ?>>
      %x1 = memref.load %b[%i] : memref<8xi32, strided<[1], offset: ?>>
      memref.store %x1, %row[%i] : memref<8xi32>
      %d = memref.reinterpret_cast %in to offset: [5], sizes: [8], strides: [2] : memref<8x8xi32> to memref<8xi32, strided<[2], offset: 5>>
      %x2 = memref.load %d[%i] : memref<8xi32, strided<[2], offset: 5>>
      memref.store %x2, %other[%i] : memref<8xi32>
      %e = memref.collapse_shape %in [[0, 1]] : memref<8x8xi32> into memref<64xi32>
      %n = arith.muli %i, %c9 : index
      %dyn = memref.cast %e : memref<64xi32> to memref<?xi32>
      %x3 = memref.load %dyn[%n] : memref<?xi32>
      memref.store %x3, %flat[%i] : memref<8xi32>
      %g = memref.subview %in[0, 3] [8, 1] [1, 1] : memref<8x8xi32> to memref<8xi32, strided<[8], offset: 3>>
      %x4 = memref.load %g[%i] : memref<8xi32, strided<[8], offset: 3>>
      memref.store %x4, %column[%i] : memref<8xi32>
      %first = arith.cmpi eq, %i, %c0 : index
      scf.if %first {
        affine.for %j = 0 to 8 {
          %h = affine.if #set(%j) -> index {
            %m = affine.apply #map(%j)
            affine.yield %m : index
          } else {
            %m = affine.min #least(%j)[%c3]
            affine.yield %m : index
          }
          %h32 = arith.index_cast %h : index to i32
          affine.store %h32, %mapped[%j] : memref<8xi32>
        }
      }
      gpu.return
    }
  }
}
