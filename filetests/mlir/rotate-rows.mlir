// Rotations by whole rows, which are parts of their operands where these lie one behind the other: a matrix that is rotated
// twice, one with a second matrix behind it, a circle, a matrix behind itself, a rotated one that is rotated, in a loop
// whose rounds take other matrices. All live until the last one is stored.
//
// test run
// subgroup 32
// in 0.0 T gen 4*256 = (i * 7) % 127
// out 0.1 T gen 512 = $0.0[i + 16]
// out 0.2 T gen 512 = $0.0[i + 352]
// out 0.3 T gen 512 = $0.0[i + 240]
// out 0.4 T gen 512 = $0.0[i + 32 + 256 * (i % 256 >= 224)]
// out 0.5 T gen 512 = $0.0[i - i % 256 + (i % 256 + 528) % 768]
// out 0.6 T gen 512 = $0.0[i - i % 256 + 256 + (i % 256 + 48) % 256]
// out 0.7 T gen 512 = $0.0[i + 32 + 80 * (i % 256 >= 240)]
// define MATRIX SHAPE
// define USE KIND
// define IN INS
// define OUT OUTS
//
// case a: T=f16 KIND="AOp" SHAPE=16x16xf16 INS=1024xf16 OUTS=512xf16
// case b: T=f32 KIND="BOp" SHAPE=16x16xf32 INS=1024xf32 OUTS=512xf32
// case sum: T=f32 KIND="COp" SHAPE=16x16xf32 INS=1024xf32 OUTS=512xf32
// case bytes: T=u8 KIND="BOp" SHAPE=16x16xui8 INS=1024xui8 OUTS=512xui8
!m = !gpu.mma_matrix<MATRIX, USE>
!o = memref<OUT>
module {
  gpu.module @kernels {
    gpu.func @rows(%in: memref<IN>, %oa: !o, %ob: !o, %oc: !o, %od: !o, %oe: !o, %of: !o, %og: !o) kernel {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c48 = arith.constant 48 : index
      %c96 = arith.constant 96 : index
      %c240 = arith.constant 240 : index
      %c256 = arith.constant 256 : index
      %c512 = arith.constant 512 : index
      scf.for %at = %c0 to %c512 step %c256 {
        %at1 = arith.addi %at, %c256 : index
        %at2 = arith.addi %at, %c512 : index
        %m0 = gpu.subgroup_mma_load_matrix %in[%at] {leadDimension = 16 : index} : memref<IN> -> !m
        %m1 = gpu.subgroup_mma_load_matrix %in[%at1] {leadDimension = 16 : index} : memref<IN> -> !m
        %m2 = gpu.subgroup_mma_load_matrix %in[%at2] {leadDimension = 16 : index} : memref<IN> -> !m
        %a = gpu.subgroup_mma_rotate %m0, %m1, %c16 : !m, !m, index -> !m
        %b = gpu.subgroup_mma_rotate %m1, %m2, %c96 : !m, !m, index -> !m
        %c = gpu.subgroup_mma_rotate %m0, %m1, %c240 : !m, !m, index -> !m
        %d = gpu.subgroup_mma_rotate %m0, %m2, %c32 : !m, !m, index -> !m
        %e = gpu.subgroup_mma_rotate %m2, %m0, %c16 : !m, !m, index -> !m
        %f = gpu.subgroup_mma_rotate %m1, %m1, %c48 : !m, !m, index -> !m
        %g = gpu.subgroup_mma_rotate %a, %b, %c16 : !m, !m, index -> !m
        gpu.subgroup_mma_store_matrix %a, %oa[%at] {leadDimension = 16 : index} : !m, !o
        gpu.subgroup_mma_store_matrix %b, %ob[%at] {leadDimension = 16 : index} : !m, !o
        gpu.subgroup_mma_store_matrix %c, %oc[%at] {leadDimension = 16 : index} : !m, !o
        gpu.subgroup_mma_store_matrix %d, %od[%at] {leadDimension = 16 : index} : !m, !o
        gpu.subgroup_mma_store_matrix %e, %oe[%at] {leadDimension = 16 : index} : !m, !o
        gpu.subgroup_mma_store_matrix %f, %of[%at] {leadDimension = 16 : index} : !m, !o
        gpu.subgroup_mma_store_matrix %g, %og[%at] {leadDimension = 16 : index} : !m, !o
      }
      gpu.return
    }
  }
}
