// Rotations of matrices whose elements are no multiple of the subgroup, by offsets that a buffer says: 0, within, the
// size, below 0 and beyond, where the nearest offset counts.
//
// test run
// subgroup 8 32
// dispatch 8 1 1
// in 0.0 i64 [0 1 5 14 15 16 -3 4294967297]
// in 0.1 T ramp 30
// out 0.2 T gen 8*15 = (i % 15) + min(max($0.0[div(i, 15)], 0), 15)
// define MATRIX SHAPE
// define MATRIX SHAPE
// define USE KIND
// define IN INS
// define OUT OUTS
//
// case a: T=f32 KIND="AOp" SHAPE=3x5xf32 INS=30xf32 OUTS=120xf32
// case b: T=f16 KIND="BOp" SHAPE=3x5xf16 INS=30xf16 OUTS=120xf16
// case sum: T=f32 KIND="COp" SHAPE=3x5xf32 INS=30xf32 OUTS=120xf32
// case bytes: T=u8 KIND="AOp" SHAPE=3x5xui8 INS=30xui8 OUTS=120xui8
module {
  gpu.module @kernels {
    gpu.func @rotate(%offsets: memref<8xi64>, %in: memref<IN>, %out: memref<OUT>) kernel {
      %c0 = arith.constant 0 : index
      %c15 = arith.constant 15 : index
      %block = gpu.block_id x
      %offset = memref.load %offsets[%block] : memref<8xi64>
      %a = gpu.subgroup_mma_load_matrix %in[%c0] {leadDimension = 5 : index} : memref<IN> -> !gpu.mma_matrix<MATRIX, USE>
      %b = gpu.subgroup_mma_load_matrix %in[%c15] {leadDimension = 5 : index} : memref<IN> -> !gpu.mma_matrix<MATRIX, USE>
      %r = gpu.subgroup_mma_rotate %a, %b, %offset : !gpu.mma_matrix<MATRIX, USE>, !gpu.mma_matrix<MATRIX, USE>, i64 -> !gpu.mma_matrix<MATRIX, USE>
      %at = arith.muli %block, %c15 : index
      gpu.subgroup_mma_store_matrix %r, %out[%at] {leadDimension = 5 : index} : !gpu.mma_matrix<MATRIX, USE>, memref<OUT>
      gpu.return
    }
  }
}
