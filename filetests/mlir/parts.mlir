// Vectors made of parts, memory of an invocation's own, loops whose condition comes first, maxima of maps, poison.
//
// test run
// subgroup 8 32
// dispatch 1 1 1
// in 0.0 i32 gen 32 = i
// out 0.1 i32 gen 32 x 4 = c == 0 ? r : c == 1 ? 7 : c == 2 ? r + 1 : 7
// out 0.2 i32 gen 32 = 2 * i + sum(k, i, k)
// out 0.3 i32 gen 32 = max(i, 31 - i)
// out 0.4 u32 gen 32 = div(255 - i, 5)
module {
  gpu.module @kernels {
    gpu.func @main(%in: memref<32xi32>, %vectors: memref<32x4xi32>, %sums: memref<32xi32>, %maxima: memref<32xi32>, %quotients: memref<32xi32>)
        private(%own: memref<3xi32, #gpu.address_space<private>>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %one = arith.constant 1 : i32
      %seven = arith.constant 7 : i32
      %zero = arith.constant 0 : i32
      %i = gpu.thread_id x
      %x = memref.load %in[%i] : memref<32xi32>

      %next = arith.addi %x, %one : i32
      %same = vector.splat %x : vector<4xi32>
      %all = vector.broadcast %seven : i32 to vector<4xi32>
      %part = vector.extract %same[0] : i32 from vector<4xi32>
      %first = vector.insert %part, %all [0] : i32 into vector<4xi32>
      %third = vector.insert %next, %first [2] : i32 into vector<4xi32>
      vector.store %third, %vectors[%i, %c0] : memref<32x4xi32>, vector<4xi32>

      memref.store %x, %own[%c0] : memref<3xi32, #gpu.address_space<private>>
      memref.store %x, %own[%c2] : memref<3xi32, #gpu.address_space<private>>
      %none = ub.poison : i32
      memref.store %none, %own[%c1] : memref<3xi32, #gpu.address_space<private>>
      %n, %sum = scf.while (%k = %zero, %s = %zero) : (i32, i32) -> (i32, i32) {
        %more = arith.cmpi slt, %k, %x : i32
        scf.condition(%more) %k, %s : i32, i32
      } do {
      ^bb0(%k: i32, %s: i32):
        %t = arith.addi %s, %k : i32
        %up = arith.addi %k, %one : i32
        scf.yield %up, %t : i32, i32
      }
      %a = memref.load %own[%c0] : memref<3xi32, #gpu.address_space<private>>
      %b = memref.load %own[%c2] : memref<3xi32, #gpu.address_space<private>>
      %ab = arith.addi %a, %b : i32
      %total = arith.addi %ab, %sum : i32
      memref.store %total, %sums[%i] : memref<32xi32>

      %m = affine.max affine_map<(d) -> (d, 31 - d)>(%i)
      %m32 = arith.index_cast %m : index to i32
      memref.store %m32, %maxima[%i] : memref<32xi32>

      %five = arith.constant 5 : i32
      %many = arith.constant 255 : i32
      %less = arith.subi %many, %x : i32
      %q = arith.divui %less, %five : i32
      memref.store %q, %quotients[%i] : memref<32xi32>
      gpu.return
    }
  }
}
