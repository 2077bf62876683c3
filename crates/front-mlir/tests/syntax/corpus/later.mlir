// Forms that came after version 19.
module {
  "gpu.module"() <{sym_name = "generic"}> ({
    "gpu.func"() <{function_type = () -> ()}> ({
      "gpu.return"() : () -> ()
    }) {sym_name = "f", gpu.kernel} : () -> ()
  }) : () -> ()
  gpu.module @kernels <#gpu.select_object<0>> [#nvvm.target] {
    gpu.func @f(%x: f32, %i: i32, %h: !gpu.mma_matrix<16x16xf16, "COp">) {
      %0 = gpu.subgroup_reduce add %x cluster(size = 4) : (f32) -> f32
      %1 = gpu.subgroup_reduce add %x uniform cluster(size = 4, stride = 2) : (f32) -> f32
      %2 = gpu.subgroup_broadcast %x, first_active_lane : f32
      %3 = gpu.subgroup_broadcast %x, specific_lane %i : f32
      %4 = gpu.subgroup_mma_elementwise extf %h : (!gpu.mma_matrix<16x16xf16, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
      gpu.barrier memfence [#gpu.address_space<workgroup>]
      gpu.printf "%d", %i : i32
      gpu.return
    }
  }
}
