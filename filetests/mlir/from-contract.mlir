// What mlir-opt 19 makes of vector.contract and a maximum with zero: matrices, by --convert-vector-to-gpu.
//
// test run
// subgroup 8 32
// dispatch 1 1 1
// in 0.0 f16 gen 16*16 = i % 7 - 3
// in 0.1 f16 gen 16*16 = i % 5 - 2
// out 0.2 f16 gen 16*16 = max(sum(k, 16, $0.0[div(i, 16) * 16 + k] * $0.1[k * 16 + i % 16]), 0)
// in 0.3 f16 ramp 16
module {
  func.func @contract(%arg0: memref<16x16xf16>, %arg1: memref<16x16xf16>, %arg2: memref<16x16xf16>, %arg3: memref<16xf16>) {
    %cst = arith.constant 0.000000e+00 : f16
    %c0 = arith.constant 0 : index
    %0 = gpu.subgroup_mma_constant_matrix %cst : !gpu.mma_matrix<16x16xf16, "COp">
    %1 = gpu.subgroup_mma_load_matrix %arg0[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">
    %2 = gpu.subgroup_mma_load_matrix %arg1[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf16> -> !gpu.mma_matrix<16x16xf16, "BOp">
    %3 = gpu.subgroup_mma_compute %1, %2, %0 : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf16, "COp">
    %4 = gpu.subgroup_mma_elementwise  maxf %3, %0 : (!gpu.mma_matrix<16x16xf16, "COp">, !gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf16, "COp">
    gpu.subgroup_mma_store_matrix %4, %arg2[%c0, %c0] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf16, "COp">, memref<16x16xf16>
    return
  }
}

