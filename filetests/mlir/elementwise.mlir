// Matrices element by element, in every kind that the dialect has; NaN in either operand of maxf and minf wins.
//
// test run
// subgroup 8 32
// dispatch 1 1 1
// in 0.0 f16 gen 15 = i - 7
// in 0.1 f16 gen 15 = (i * 4) % 7 + 1
// in 0.2 i32 gen 15 = i - 7
// in 0.3 i32 gen 15 = i % 4 + 1
// out 0.4 f16 gen 15 = $0.0[i] + $0.1[i]
// out 0.5 f16 gen 15 = $0.0[i] - $0.1[i]
// out 0.6 f16 gen 15 = $0.0[i] * $0.1[i]
// tolerance 1 ulp
// out 0.7 f16 gen 15 = $0.0[i] / $0.1[i]
// tolerance exact
// out 0.8 f16 gen 15 = max($0.0[i], $0.1[i])
// out 0.9 f16 gen 15 = min($0.0[i], $0.1[i])
// out 0.10 f16 gen 15 = 0 - $0.0[i]
// out 0.11 f32 gen 15 = $0.0[i]
// out 0.12 i32 gen 15 = $0.2[i] + $0.3[i]
// out 0.13 i32 gen 15 = $0.2[i] - $0.3[i]
// out 0.14 i32 gen 15 = $0.2[i] * $0.3[i]
// out 0.15 i32 gen 15 = $0.2[i] >= 0 ? div($0.2[i], $0.3[i]) : -div(-$0.2[i], $0.3[i])
// out 0.16 i32 gen 15 = -$0.2[i]
// out 0.17 u32 gen 15 = div($0.2[i] >= 0 ? $0.2[i] : $0.2[i] + 4294967296, $0.3[i])
!h = !gpu.mma_matrix<3x5xf16, "COp">
!f = !gpu.mma_matrix<3x5xf32, "COp">
!i = !gpu.mma_matrix<3x5xi32, "COp">
!mh = memref<3x5xf16>
!mf = memref<3x5xf32>
!mi = memref<3x5xi32>
module {
  gpu.module @kernels {
    gpu.func @main(%a: !mh, %b: !mh, %p: !mi, %q: !mi, %add: !mh, %sub: !mh, %mul: !mh, %div: !mh, %max: !mh, %min: !mh, %neg: !mh, %ext: !mf, %addi: !mi, %subi: !mi, %muli: !mi, %divs: !mi, %negs: !mi, %divu: !mi) kernel {
      %c0 = arith.constant 0 : index
      %x = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 5 : index} : !mh -> !h
      %y = gpu.subgroup_mma_load_matrix %b[%c0, %c0] {leadDimension = 5 : index} : !mh -> !h
      %u = gpu.subgroup_mma_load_matrix %p[%c0, %c0] {leadDimension = 5 : index} : !mi -> !i
      %v = gpu.subgroup_mma_load_matrix %q[%c0, %c0] {leadDimension = 5 : index} : !mi -> !i
      %0 = gpu.subgroup_mma_elementwise addf %x, %y : (!h, !h) -> !h
      gpu.subgroup_mma_store_matrix %0, %add[%c0, %c0] {leadDimension = 5 : index} : !h, !mh
      %1 = gpu.subgroup_mma_elementwise subf %x, %y : (!h, !h) -> !h
      gpu.subgroup_mma_store_matrix %1, %sub[%c0, %c0] {leadDimension = 5 : index} : !h, !mh
      %2 = gpu.subgroup_mma_elementwise mulf %x, %y : (!h, !h) -> !h
      gpu.subgroup_mma_store_matrix %2, %mul[%c0, %c0] {leadDimension = 5 : index} : !h, !mh
      %3 = gpu.subgroup_mma_elementwise divf %x, %y : (!h, !h) -> !h
      gpu.subgroup_mma_store_matrix %3, %div[%c0, %c0] {leadDimension = 5 : index} : !h, !mh
      %4 = gpu.subgroup_mma_elementwise maxf %x, %y : (!h, !h) -> !h
      gpu.subgroup_mma_store_matrix %4, %max[%c0, %c0] {leadDimension = 5 : index} : !h, !mh
      %5 = gpu.subgroup_mma_elementwise minf %x, %y : (!h, !h) -> !h
      gpu.subgroup_mma_store_matrix %5, %min[%c0, %c0] {leadDimension = 5 : index} : !h, !mh
      %6 = gpu.subgroup_mma_elementwise negatef %x : (!h) -> !h
      gpu.subgroup_mma_store_matrix %6, %neg[%c0, %c0] {leadDimension = 5 : index} : !h, !mh
      %7 = gpu.subgroup_mma_elementwise extf %x : (!h) -> !f
      gpu.subgroup_mma_store_matrix %7, %ext[%c0, %c0] {leadDimension = 5 : index} : !f, !mf
      %8 = gpu.subgroup_mma_elementwise addi %u, %v : (!i, !i) -> !i
      gpu.subgroup_mma_store_matrix %8, %addi[%c0, %c0] {leadDimension = 5 : index} : !i, !mi
      %9 = gpu.subgroup_mma_elementwise subi %u, %v : (!i, !i) -> !i
      gpu.subgroup_mma_store_matrix %9, %subi[%c0, %c0] {leadDimension = 5 : index} : !i, !mi
      %10 = gpu.subgroup_mma_elementwise muli %u, %v : (!i, !i) -> !i
      gpu.subgroup_mma_store_matrix %10, %muli[%c0, %c0] {leadDimension = 5 : index} : !i, !mi
      %11 = gpu.subgroup_mma_elementwise divs %u, %v : (!i, !i) -> !i
      gpu.subgroup_mma_store_matrix %11, %divs[%c0, %c0] {leadDimension = 5 : index} : !i, !mi
      %12 = gpu.subgroup_mma_elementwise negates %u : (!i) -> !i
      gpu.subgroup_mma_store_matrix %12, %negs[%c0, %c0] {leadDimension = 5 : index} : !i, !mi
      %13 = gpu.subgroup_mma_elementwise divu %u, %v : (!i, !i) -> !i
      gpu.subgroup_mma_store_matrix %13, %divu[%c0, %c0] {leadDimension = 5 : index} : !i, !mi
      gpu.return
    }
  }
}
