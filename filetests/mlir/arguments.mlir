// Buffers by the number of the argument, or where an attribute says; numbers in the push constants: scalars, and the
// extents and strides that a memref's type leaves open, but for an outermost extent that the buffer's length gives.
//
// test run
// subgroup 8 32
// dispatch 1 1 1
// push f32 [0.5]
// push i32 [7]
// push i64 [4 5]
// push i64 [3 8 2]
// in 0.1 f32 ramp 12
// in 2.9 f32 ramp 20
// in 0.4 f32 ramp 40
// out 0.5 f32 [0.5 7 3 11 4 5 19 3 20]
module {
  gpu.module @kernels {
    gpu.func @main(%scale: f32, %rows: memref<?x4xf32>, %n: i32, %open: memref<?x?xf32> {spirv.interface_var_abi = #spirv.interface_var_abi<(2, 9)>}, %strided: memref<?x4xf32, strided<[?, ?]>>, %out: memref<9xf32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c5 = arith.constant 5 : index
      %c6 = arith.constant 6 : index
      %c7 = arith.constant 7 : index
      %c8 = arith.constant 8 : index
      memref.store %scale, %out[%c0] : memref<9xf32>
      %nf = arith.sitofp %n : i32 to f32
      memref.store %nf, %out[%c1] : memref<9xf32>
      func.call @size(%rows, %out, %c2) : (memref<?x4xf32>, memref<9xf32>, index) -> ()
      %a = memref.load %rows[%c2, %c3] : memref<?x4xf32>
      memref.store %a, %out[%c3] : memref<9xf32>
      %d0 = memref.dim %open, %c0 : memref<?x?xf32>
      %d1 = memref.dim %open, %c1 : memref<?x?xf32>
      %f0 = func.call @float(%d0) : (index) -> f32
      %f1 = func.call @float(%d1) : (index) -> f32
      memref.store %f0, %out[%c4] : memref<9xf32>
      memref.store %f1, %out[%c5] : memref<9xf32>
      %b = memref.load %open[%c3, %c4] : memref<?x?xf32>
      memref.store %b, %out[%c6] : memref<9xf32>
      %d2 = memref.dim %strided, %c0 : memref<?x4xf32, strided<[?, ?]>>
      %f2 = func.call @float(%d2) : (index) -> f32
      memref.store %f2, %out[%c7] : memref<9xf32>
      %c = memref.load %strided[%c2, %c2] : memref<?x4xf32, strided<[?, ?]>>
      memref.store %c, %out[%c8] : memref<9xf32>
      gpu.return
    }
    func.func private @float(%i: index) -> f32 {
      %x = arith.index_cast %i : index to i32
      %y = arith.sitofp %x : i32 to f32
      return %y : f32
    }
    func.func private @size(%m: memref<?x4xf32>, %out: memref<9xf32>, %at: index) {
      %c0 = arith.constant 0 : index
      %d = memref.dim %m, %c0 : memref<?x4xf32>
      %f = func.call @float(%d) : (index) -> f32
      memref.store %f, %out[%at] : memref<9xf32>
      return
    }
  }
}
