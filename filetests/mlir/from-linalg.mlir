// What mlir-opt 19 makes of linalg.matmul by way of parallel loops: a kernel with affine maps, constants of the host as
// arguments, and the launch, which is not looked at here.
//
// test run
// subgroup 8 32
// entry matmul_kernel
// dispatch 32 16 1
// push i64 [1 0 24]
// in 0.2 f32 gen 32*24 = i % 7 - 3
// in 0.3 f32 gen 24*16 = i % 5 - 2
// inout 0.4 f32 gen 32*16 = i % 3
// out 0.4 f32 gen 32*16 = i % 3 + sum(k, 24, $0.2[div(i, 16) * 24 + k] * $0.3[k * 16 + i % 16])
#map = affine_map<(d0)[s0, s1] -> (d0 * s0 + s1)>
module attributes {gpu.container_module} {
  func.func @matmul(%arg0: memref<32x24xf32>, %arg1: memref<24x16xf32>, %arg2: memref<32x16xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c16 = arith.constant 16 : index
    gpu.launch_func  @matmul_kernel::@matmul_kernel blocks in (%c32, %c16, %c1) threads in (%c1, %c1, %c1)  args(%c1 : index, %c0 : index, %arg0 : memref<32x24xf32>, %arg1 : memref<24x16xf32>, %arg2 : memref<32x16xf32>, %c24 : index)
    return
  }
  gpu.module @matmul_kernel {
    gpu.func @matmul_kernel(%arg0: index, %arg1: index, %arg2: memref<32x24xf32>, %arg3: memref<24x16xf32>, %arg4: memref<32x16xf32>, %arg5: index) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
      %block_id_x = gpu.block_id  x
      %block_id_y = gpu.block_id  y
      %0 = affine.apply #map(%block_id_x)[%arg0, %arg1]
      %1 = affine.apply #map(%block_id_y)[%arg0, %arg1]
      scf.for %arg6 = %arg1 to %arg5 step %arg0 {
        %2 = memref.load %arg2[%0, %arg6] : memref<32x24xf32>
        %3 = memref.load %arg3[%arg6, %1] : memref<24x16xf32>
        %4 = memref.load %arg4[%0, %1] : memref<32x16xf32>
        %5 = arith.mulf %2, %3 : f32
        %6 = arith.addf %4, %5 : f32
        memref.store %6, %arg4[%0, %1] : memref<32x16xf32>
      }
      gpu.return
    }
  }
}

