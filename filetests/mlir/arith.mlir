// Integers: divisions that round up and down, comparisons with and without a sign, widths and extensions. A truth value
// as a number, and in memory. Shifts past the width and divisions by zero are poison to MLIR, and some number here.
//
// test run
// subgroup 8 32
// dispatch 1 1 1
// in 0.0 i32 [7 -7 7 -7 2147483647 -2147483648 0 5]
// in 0.1 i32 [2 2 -2 -2 10 3 4 5]
// out 0.2 i32 [4 -3 -3 4 214748365 -715827882 0 1]
// out 0.3 i32 [3 -4 -4 3 214748364 -715827883 0 1]
// out 0.4 i32 [1 -1 1 -1 7 -2 0 0]
// out 0.5 i32 [0 1 0 1 0 1 1 0]
// out 0.6 i32 [0 0 1 1 0 0 1 0]
// out 0.7 i64 [7 4294967289 7 4294967289 2147483647 2147483648 0 5]
// out 0.8 i16 [7 -7 7 -7 -1 0 0 5]
// out 0.9 i8 [1 1 1 1 1 0 0 1]
// out 0.10 f32 [7 -7 7 -7 2147483648 -2147483648 0 5]
// out 0.11 i32 [14 -14 -14 14 -10 -2147483648 0 25]
// out 0.12 i32 [0 -1 -1 0 4 -2 0 0]
module {
  gpu.module @kernels {
    gpu.func @main(%a: memref<8xi32>, %b: memref<8xi32>, %ceil: memref<8xi32>, %floor: memref<8xi32>, %rem: memref<8xi32>, %slt: memref<8xi32>, %ult: memref<8xi32>, %wide: memref<8xi64>, %narrow: memref<8xi16>, %odd: memref<8xi1>, %float: memref<8xf32>, %low: memref<8xi32>, %high: memref<8xi32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
      %i = gpu.thread_id x
      %x = memref.load %a[%i] : memref<8xi32>
      %y = memref.load %b[%i] : memref<8xi32>
      %q = arith.ceildivsi %x, %y : i32
      memref.store %q, %ceil[%i] : memref<8xi32>
      %f = arith.floordivsi %x, %y : i32
      memref.store %f, %floor[%i] : memref<8xi32>
      %r = arith.remsi %x, %y : i32
      memref.store %r, %rem[%i] : memref<8xi32>
      %s = arith.cmpi slt, %x, %y : i32
      %s32 = arith.extui %s : i1 to i32
      memref.store %s32, %slt[%i] : memref<8xi32>
      %u = arith.cmpi ult, %x, %y : i32
      %u32 = arith.extui %u : i1 to i32
      memref.store %u32, %ult[%i] : memref<8xi32>
      %w = arith.extui %x : i32 to i64
      memref.store %w, %wide[%i] : memref<8xi64>
      %n = arith.trunci %x : i32 to i16
      memref.store %n, %narrow[%i] : memref<8xi16>
      %o = arith.trunci %x : i32 to i1
      memref.store %o, %odd[%i] : memref<8xi1>
      %fl = arith.sitofp %x : i32 to f32
      memref.store %fl, %float[%i] : memref<8xf32>
      %lo, %hi = arith.mulsi_extended %x, %y : i32
      memref.store %lo, %low[%i] : memref<8xi32>
      memref.store %hi, %high[%i] : memref<8xi32>
      gpu.return
    }
  }
}
