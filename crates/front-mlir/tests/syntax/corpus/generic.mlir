// The generic form alone: properties, attributes, regions, successors, groups of results.
"builtin.module"() ({
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = (memref<?xf32>, i1) -> ()}> ({
    ^entry(%m: memref<?xf32>, %c: i1, %shared: memref<4xf32, #gpu.address_space<workgroup>>):
      %i = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
      %f = "arith.constant"() {value = 0.25 : f32} : () -> f32
      %w = "arith.constant"() <{value = 4 : i32}> : () -> i32
      %x:2 = "gpu.shuffle"(%f, %w, %w) {mode = #gpu<shuffle_mode xor>} : (f32, i32, i32) -> (f32, i1)
      %r = "scf.if"(%c) ({
        "scf.yield"(%x#0) : (f32) -> ()
      }, {
        %y = "arith.mulf"(%f, %x#0) {fastmath = #arith.fastmath<none>} : (f32, f32) -> f32
        "scf.yield"(%y) : (f32) -> ()
      }) : (i1) -> f32
      "cf.cond_br"(%c, %r)[^next, ^end] {operandSegmentSizes = array<i32: 1, 1, 0>} : (i1, f32) -> ()
    ^next(%z: f32):
      "memref.store"(%z, %m, %i) : (f32, memref<?xf32>, index) -> ()
      "cf.br"()[^end] : () -> ()
    ^end:
      "gpu.return"() : () -> ()
    }) {gpu.kernel, sym_name = "f", workgroup_attributions = 1 : i64} : () -> ()
    "gpu.module_end"() : () -> ()
  }) : () -> ()
}) : () -> ()
