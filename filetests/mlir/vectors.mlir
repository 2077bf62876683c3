// Vectors are elements one by one: loads and stores, transfers with padding beyond the extents, positions that only the
// kernel knows, reductions, fused multiply-adds; memrefs of vectors; private memory and constant tables.
//
// test run
// subgroup 8 32
// dispatch 1 1 1
// in 0.0 f32 ramp 30
// out 0.1 f32 gen 32 = 2 * i + 1 < 60 ? (i < 30 ? 2 * i + 1 : -1) : -1
// out 0.2 f32 gen 8 = (4 * i + i % 4 < 30 ? 4 * i + i % 4 : -1)
// out 0.3 f32 gen 8 = sum(k, 4, 4 * i + k < 30 ? 4 * i + k : -1)
// out 0.4 f32 gen 32 = div(i, 4) + 10 * (3 - i % 4)
// out 0.5 f32 gen 8 = i % 3 == 0 ? 5 : i % 3 == 1 ? 6 : 7
module {
  gpu.module @kernels {
    memref.global "private" constant @table : memref<3xf32> = dense<[5.0, 6.0, 7.0]>
    gpu.func @main(%in: memref<30xf32>, %twice: memref<32xf32>, %one: memref<8xf32>, %sum: memref<8xf32>, %turned: memref<8xvector<4xf32>>, %looked: memref<8xf32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %i = gpu.thread_id x
      %at = arith.muli %i, %c4 : index
      %pad = arith.constant -1.0 : f32
      %v = vector.transfer_read %in[%at], %pad : memref<30xf32>, vector<4xf32>
      %two = arith.constant dense<2.0> : vector<4xf32>
      %plus = arith.constant dense<1.0> : vector<4xf32>
      %w = vector.fma %v, %two, %plus : vector<4xf32>
      vector.store %w, %twice[%at] : memref<32xf32>, vector<4xf32>
      %k = arith.remui %i, %c4 : index
      %x = vector.extract %v[%k] : f32 from vector<4xf32>
      memref.store %x, %one[%i] : memref<8xf32>
      %s = vector.reduction <add>, %v : vector<4xf32> into f32
      memref.store %s, %sum[%i] : memref<8xf32>

      %own = memref.alloca() : memref<4xf32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %j = %c0 to %c4 step %c1 {
        %j32 = arith.index_cast %j : index to i32
        %jf = arith.sitofp %j32 : i32 to f32
        %ten = arith.constant 10.0 : f32
        %p = arith.mulf %jf, %ten : f32
        %i32 = arith.index_cast %i : index to i32
        %if = arith.sitofp %i32 : i32 to f32
        %q = arith.addf %p, %if : f32
        %to = arith.subi %c3, %j : index
        memref.store %q, %own[%to] : memref<4xf32>
      }
      %r = vector.load %own[%c0] : memref<4xf32>, vector<4xf32>
      memref.store %r, %turned[%i] : memref<8xvector<4xf32>>

      %t = memref.get_global @table : memref<3xf32>
      %m = arith.remui %i, %c3 : index
      %l = memref.load %t[%m] : memref<3xf32>
      memref.store %l, %looked[%i] : memref<8xf32>
      gpu.return
    }
  }
}
