// Matrices of a subgroup.
!a = !gpu.mma_matrix<16x16xf16, "AOp">
!b = !gpu.mma_matrix<16x16xf16, "BOp">
!c = !gpu.mma_matrix<16x16xf32, "COp">
!ci = !gpu.mma_matrix<16x16xi32, "COp">
gpu.module @matrices {
  gpu.func @multiply(%a: memref<64x64xf16>, %b: memref<64x64xf16, strided<[128, 1], offset: ?>>, %c: memref<?x?xf32>, %i: index) kernel {
    %0 = gpu.subgroup_mma_load_matrix %a[%i, %i] {leadDimension = 64 : index} : memref<64x64xf16> -> !a
    %1 = gpu.subgroup_mma_load_matrix %a[%i, %i] {leadDimension = 64 : index, transpose} : memref<64x64xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
    %2 = gpu.subgroup_mma_load_matrix %b[%i, %i] {leadDimension = 128 : index, transpose} : memref<64x64xf16, strided<[128, 1], offset: ?>> -> !b
    %3 = gpu.subgroup_mma_load_matrix %c[%i, %i] {leadDimension = 64 : index} : memref<?x?xf32> -> !c
    %4 = gpu.subgroup_mma_compute %0, %2, %3 : !a, !b -> !c
    %5 = gpu.subgroup_mma_compute %1, %2, %4 {a_transpose} : !a, !b -> !c
    %6 = gpu.subgroup_mma_compute %1, %2, %5 {b_transpose, a_transpose} : !a, !b -> !c
    gpu.subgroup_mma_store_matrix %6, %c[%i, %i] {leadDimension = 64 : index} : !c, memref<?x?xf32>
    gpu.subgroup_mma_store_matrix %6, %c[%i, %i] {leadDimension = 64 : index, transpose} : !c, memref<?x?xf32>
    gpu.return
  }
  gpu.func @elements(%x: f32, %n: i32) {
    %c = gpu.subgroup_mma_constant_matrix %x : !gpu.mma_matrix<16x16xf32, "COp">
    %i = gpu.subgroup_mma_constant_matrix %n : !ci
    %0 = gpu.subgroup_mma_elementwise addf %c, %c : (!c, !c) -> !c
    %1 = gpu.subgroup_mma_elementwise mulf %c, %0 : (!c, !c) -> !c
    %2 = gpu.subgroup_mma_elementwise subf %c, %0 : (!c, !c) -> !c
    %3 = gpu.subgroup_mma_elementwise maxf %c, %0 : (!c, !c) -> !c
    %4 = gpu.subgroup_mma_elementwise minf %c, %0 : (!c, !c) -> !c
    %5 = gpu.subgroup_mma_elementwise divf %c, %0 {test.note} : (!c, !c) -> !c
    %6 = gpu.subgroup_mma_elementwise negatef %c : (!c) -> !c
    %7 = gpu.subgroup_mma_elementwise addi %i, %i : (!ci, !ci) -> !ci
    %8 = gpu.subgroup_mma_elementwise muli %i, %i : (!ci, !ci) -> !ci
    %9 = gpu.subgroup_mma_elementwise subi %i, %i : (!ci, !ci) -> !ci
    %10 = gpu.subgroup_mma_elementwise divs %i, %i : (!ci, !ci) -> !ci
    %11 = gpu.subgroup_mma_elementwise divu %i, %i : (!ci, !ci) -> !ci
    %12 = gpu.subgroup_mma_elementwise negates %i : (!ci) -> !ci
    gpu.return
  }
}
