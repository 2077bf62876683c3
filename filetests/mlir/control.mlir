// Loops, branches and switches that carry values; functions that are called; memory of the work-group.
//
// test run
// subgroup 8 32
// dispatch 2 1 1
// in 0.0 i32 gen 64 = i
// out 0.1 i32 gen 64 = 100 + sum(k, i % 7, k * (k % 2 == 0 ? 1 : 10))
// out 0.2 i32 gen 64 = i % 5 == 1 ? 11 : i % 5 == 3 ? 33 : -1
// out 0.3 i32 gen 64 = div(i, 32) * 32 + 31 - i % 32
module {
  gpu.module @kernels {
    memref.global "private" @table : memref<32xi32, #gpu.address_space<workgroup>>
    func.func private @scaled(%k: i32) -> i32 {
      %c1 = arith.constant 1 : i32
      %c10 = arith.constant 10 : i32
      %odd = arith.andi %k, %c1 : i32
      %is_odd = arith.cmpi eq, %odd, %c1 : i32
      %f = arith.select %is_odd, %c10, %c1 : i32
      %r = arith.muli %k, %f : i32
      return %r : i32
    }
    gpu.func @main(%in: memref<64xi32>, %sums: memref<64xi32>, %cases: memref<64xi32>, %turned: memref<64xi32>)
        workgroup(%own: memref<32xi32, #gpu.address_space<workgroup>>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c5 = arith.constant 5 : index
      %c7 = arith.constant 7 : index
      %c31 = arith.constant 31 : index
      %i = gpu.global_id x
      %n = arith.remui %i, %c7 : index
      %hundred = arith.constant 100 : i32
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %hundred) -> (i32) {
        %k32 = arith.index_cast %k : index to i32
        %s = func.call @scaled(%k32) : (i32) -> i32
        %next = arith.addi %acc, %s : i32
        scf.yield %next : i32
      }
      memref.store %sum, %sums[%i] : memref<64xi32>

      %m = arith.remui %i, %c5 : index
      %c = scf.index_switch %m -> i32
      case 1 {
        %v = arith.constant 11 : i32
        scf.yield %v : i32
      }
      case 3 {
        %v = arith.constant 33 : i32
        scf.yield %v : i32
      }
      default {
        %v = arith.constant -1 : i32
        scf.yield %v : i32
      }
      memref.store %c, %cases[%i] : memref<64xi32>

      %t = gpu.thread_id x
      %x = memref.load %in[%i] : memref<64xi32>
      memref.store %x, %own[%t] : memref<32xi32, #gpu.address_space<workgroup>>
      gpu.barrier
      %from = arith.subi %c31, %t : index
      %y = memref.load %own[%from] : memref<32xi32, #gpu.address_space<workgroup>>
      %g = memref.get_global @table : memref<32xi32, #gpu.address_space<workgroup>>
      memref.store %y, %g[%t] : memref<32xi32, #gpu.address_space<workgroup>>
      gpu.barrier
      %z = memref.load %g[%t] : memref<32xi32, #gpu.address_space<workgroup>>
      memref.store %z, %turned[%i] : memref<64xi32>
      gpu.return
    }
  }
}
