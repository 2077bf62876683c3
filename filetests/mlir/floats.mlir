// Floats: what minimumf and minnumf make of NaN and of zeros, ordered and unordered comparisons, conversions, types
// without arithmetic of their own.
//
// test run
// subgroup 8 32
// dispatch 1 1 1
// in 0.0 f32 [1 nan -0 0 2 -inf inf 3]
// in 0.1 f32 [2 1 0 -0 nan 1 inf 0.5]
// out 0.2 f32 [1 nan -0 -0 nan -inf inf 0.5]
// out 0.3 f32 [2 nan 0 0 nan 1 inf 3]
// out 0.4 i32 [1 0 0 0 0 1 0 0]
// out 0.5 i32 [1 1 0 0 1 1 0 0]
// out 0.6 i32 [0 1 0 0 1 0 0 0]
// out 0.7 i32 [1 0 0 0 2 -2147483648 2147483647 3]
// out 0.8 bf16 [3 nan 0 0 nan -inf inf 3.5]
// out 0.9 f16 [-1 nan 0 -0 -2 inf -inf -3]
module {
  gpu.module @kernels {
    gpu.func @main(%a: memref<8xf32>, %b: memref<8xf32>, %min: memref<8xf32>, %max: memref<8xf32>, %olt: memref<8xi32>, %ult: memref<8xi32>, %uno: memref<8xi32>, %int: memref<8xi32>, %sum: memref<8xbf16>, %neg: memref<8xf16>) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
      %i = gpu.thread_id x
      %x = memref.load %a[%i] : memref<8xf32>
      %y = memref.load %b[%i] : memref<8xf32>
      %m = arith.minimumf %x, %y : f32
      memref.store %m, %min[%i] : memref<8xf32>
      %n = arith.maximumf %x, %y : f32
      memref.store %n, %max[%i] : memref<8xf32>
      %c0 = arith.cmpf olt, %x, %y : f32
      %i0 = arith.extui %c0 : i1 to i32
      memref.store %i0, %olt[%i] : memref<8xi32>
      %c1 = arith.cmpf ult, %x, %y : f32
      %i1 = arith.extui %c1 : i1 to i32
      memref.store %i1, %ult[%i] : memref<8xi32>
      %c2 = arith.cmpf uno, %x, %y : f32
      %i2 = arith.extui %c2 : i1 to i32
      memref.store %i2, %uno[%i] : memref<8xi32>
      %k = arith.fptosi %x : f32 to i32
      memref.store %k, %int[%i] : memref<8xi32>
      %xb = arith.truncf %x : f32 to bf16
      %yb = arith.truncf %y : f32 to bf16
      %s = arith.addf %xb, %yb : bf16
      memref.store %s, %sum[%i] : memref<8xbf16>
      %xh = arith.truncf %x : f32 to f16
      %h = arith.negf %xh : f16
      memref.store %h, %neg[%i] : memref<8xf16>
      gpu.return
    }
  }
}
