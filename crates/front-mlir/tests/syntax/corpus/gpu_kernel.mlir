// What kernels are made of.
#space = #gpu.address_space<workgroup>
gpu.module @kernels attributes {spirv.target_env = #spirv.target_env<#spirv.vce<v1.6, [Shader, CooperativeMatrixKHR], [SPV_KHR_cooperative_matrix]>, #spirv.resource_limits<subgroup_size = 64>>} {
  gpu.func @ids() kernel attributes {gpu.known_block_size = array<i32: 32, 2, 1>, spirv.entry_point_abi = #spirv.entry_point_abi<workgroup_size = [32, 2, 1], subgroup_size = 32>} {
    %0 = gpu.thread_id x
    %1 = gpu.thread_id y upper_bound 64
    %2 = gpu.block_id z
    %3 = gpu.block_dim x
    %4 = gpu.grid_dim y
    %5 = gpu.global_id x
    %6 = gpu.subgroup_id : index
    %7 = gpu.num_subgroups : index
    %8 = gpu.subgroup_size upper_bound 128 : index
    %9 = gpu.lane_id
    %10 = gpu.lane_id upper_bound 32
    %11 = gpu.cluster_id x
    %12 = gpu.cluster_dim y
    %13 = gpu.cluster_dim_blocks z
    %14 = gpu.cluster_block_id x
    gpu.barrier
    gpu.return
  }
  gpu.func @memory(%in: memref<?x16xf32>, %n: index {test.size}) workgroup(%shared: memref<64xf32, #space> {llvm.align = 16 : i64}, %more: memref<8xi32, 3>) private(%own: memref<2xf32, #gpu.address_space<private>>) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %in[%n, %c0] : memref<?x16xf32>
    memref.store %x, %shared[%c0] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %x, %own[%c0] : memref<2xf32, #gpu.address_space<private>>
    gpu.barrier
    %d = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
  gpu.func @across(%x: f32, %i: i32, %v: vector<4xf32>) {
    %a, %p = gpu.shuffle xor %x, %i, %i : f32
    %b, %q = gpu.shuffle up %i, %i, %i : i32
    %c, %r = gpu.shuffle down %x, %i, %i : f32
    %d, %s = gpu.shuffle idx %x, %i, %i : f32
    %0 = gpu.subgroup_reduce add %x : (f32) -> f32
    %1 = gpu.subgroup_reduce maxsi %i uniform : (i32) -> i32
    %2 = gpu.subgroup_reduce mul %v : (vector<4xf32>) -> vector<4xf32>
    %3 = gpu.all_reduce minui %i {} : (i32) -> i32
    %4 = gpu.all_reduce maximumf %x uniform {} : (f32) -> f32
    %5 = gpu.all_reduce %x {
    ^bb0(%l: f32, %o: f32):
      %sum = arith.addf %l, %o : f32
      gpu.yield %sum : f32
    } : (f32) -> f32
    gpu.printf "%d of %f\0A" %i, %x : i32, f32
    gpu.printf "done"
    gpu.return
  }
  gpu.func @result(%x: f32) -> (f32, index) {
    %0 = gpu.lane_id
    gpu.return %x, %0 : f32, index
  }
}
