// The sum of two buffers, element by element, in the generic form. The last work-group is partly out of the buffers.
//
// test run
// subgroup 8 32
// dispatch 4 1 1
// in 0.0 f32 ramp 100
// in 0.1 f32 gen 100 = 1000 - 3 * i
// out 0.2 f32 gen 100 = $0.0[i] + $0.1[i]
"builtin.module"() ({
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = (memref<?xf32>, memref<?xf32>, memref<?xf32>) -> ()}> ({
    ^bb0(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>):
      %block = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
      %size = "gpu.block_dim"() <{dimension = #gpu<dim x>}> : () -> index
      %thread = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
      %first = "arith.muli"(%block, %size) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %i = "arith.addi"(%first, %thread) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
      %zero = "arith.constant"() <{value = 0 : index}> : () -> index
      %n = "memref.dim"(%c, %zero) : (memref<?xf32>, index) -> index
      %inside = "arith.cmpi"(%i, %n) <{predicate = 2 : i64}> : (index, index) -> i1
      "scf.if"(%inside) ({
        %x = "memref.load"(%a, %i) <{nontemporal = false}> : (memref<?xf32>, index) -> f32
        %y = "memref.load"(%b, %i) <{nontemporal = false}> : (memref<?xf32>, index) -> f32
        %sum = "arith.addf"(%x, %y) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
        "memref.store"(%sum, %c, %i) <{nontemporal = false}> : (f32, memref<?xf32>, index) -> ()
        "scf.yield"() : () -> ()
      }, {
      }) : (i1) -> ()
      "gpu.return"() : () -> ()
    }) {gpu.kernel, sym_name = "add", gpu.known_block_size = array<i32: 32, 1, 1>} : () -> ()
    "gpu.module_end"() : () -> ()
  }) : () -> ()
}) : () -> ()
