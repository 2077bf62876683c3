// Transposed loads, stores and factors; signed and unsigned bytes.
//
// test run
// subgroup 8 32
// dispatch 1 1 1
// in 0.0 i8 gen 8*16 = i % 9 - 4
// in 0.1 i8 gen 8*16 = i % 7 - 3
// out 0.2 i32 gen 64 = sum(k, 16, $0.0[k * 8 + div(i, 8)] * $0.1[(i % 8) * 16 + k])
// out 0.3 i32 gen 64 = sum(k, 16, $0.0[k * 8 + (i % 8)] * $0.1[div(i, 8) * 16 + k])
!ta = !gpu.mma_matrix<16x8xsi8, "AOp">
!tb = !gpu.mma_matrix<8x16xsi8, "BOp">
!c = !gpu.mma_matrix<8x8xi32, "COp">
module {
  gpu.module @kernels {
    gpu.func @main(%a: memref<16x8xsi8>, %b: memref<8x16xsi8>, %c: memref<8x8xi32>, %t: memref<8x8xi32>) kernel {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0 : i32
      %x = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 8 : index} : memref<16x8xsi8> -> !ta
      %y = gpu.subgroup_mma_load_matrix %b[%c0, %c0] {leadDimension = 16 : index} : memref<8x16xsi8> -> !tb
      %z = gpu.subgroup_mma_constant_matrix %zero : !c
      %r = gpu.subgroup_mma_compute %x, %y, %z {a_transpose, b_transpose} : !ta, !tb -> !c
      gpu.subgroup_mma_store_matrix %r, %c[%c0, %c0] {leadDimension = 8 : index} : !c, memref<8x8xi32>
      gpu.subgroup_mma_store_matrix %r, %t[%c0, %c0] {leadDimension = 8 : index, transpose} : !c, memref<8x8xi32>
      gpu.return
    }
  }
}
