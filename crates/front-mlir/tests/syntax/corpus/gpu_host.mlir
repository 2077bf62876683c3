// What the host says.
module attributes {gpu.container_module} {
  gpu.module @kernels [#nvvm.target, #rocdl.target<chip = "gfx90a">] {
    gpu.func @f(%x: f32, %m: memref<?xf32, 1>) kernel {
      gpu.return
    }
    gpu.func @g() kernel {
      gpu.return
    }
  }
  func.func @launches(%n: index, %l: i64, %x: f32, %m: memref<?xf32, 1>, %s: i32, %stream: !llvm.ptr) {
    %t = gpu.wait async
    gpu.launch_func @kernels::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%x : f32, %m : memref<?xf32, 1>)
    gpu.launch_func @kernels::@g clusters in (%n, %n, %n) blocks in (%n, %n, %n) threads in (%n, %n, %n) dynamic_shared_memory_size %s
    gpu.launch_func <%stream : !llvm.ptr> @kernels::@g blocks in (%l, %l, %l) threads in (%l, %l, %l) : i64
    %u = gpu.launch_func async [%t] @kernels::@g blocks in (%n, %n, %n) threads in (%n, %n, %n) {test.note}
    gpu.wait [%u, %t]
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
      %sum = arith.addi %bx, %tx : index
      gpu.terminator
    }
    gpu.launch clusters(%cx, %cy, %cz) in (%ex = %n, %ey = %n, %ez = %n) blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) dynamic_shared_memory_size %s {
      %sum = arith.addi %cx, %ex : index
      gpu.terminator
    }
    %v = gpu.launch async [%u] blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) workgroup(%w: memref<4xf32, 3>) private(%p: memref<1xf32, 5>) {
      gpu.terminator
    } {test.note}
    return
  }
  func.func @memory(%n: index, %m: memref<4xf32>, %x: f32) {
    %t = gpu.wait async
    %a, %u = gpu.alloc async [%t] () : memref<4xf32>
    %b = gpu.alloc host_shared (%n) : memref<?xf32>
    gpu.memcpy %m, %a : memref<4xf32>, memref<4xf32>
    %w = gpu.memcpy async [%u] %m, %a : memref<4xf32>, memref<4xf32>
    gpu.memset %m, %x : memref<4xf32>, f32
    gpu.dealloc %b : memref<?xf32>
    %y = gpu.dealloc async [%w] %a : memref<4xf32>
    %c = memref.cast %m : memref<4xf32> to memref<*xf32>
    gpu.host_register %c : memref<*xf32>
    gpu.host_unregister %c : memref<*xf32>
    return
  }
}
