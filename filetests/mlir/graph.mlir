// Blocks and branches: a loop with two exits, a value of the loop that is used behind it, a switch whose cases meet, and
// an early return. The steps of the Collatz sequence up to 1 or to 20, and the number reached.
//
// test run
// subgroup 8 32
// dispatch 1 1 1
// in 0.0 i32 [1 2 3 4 5 6 7 8]
// out 0.1 i32 [0 1 7 2 5 8 16 3]
// out 0.2 i32 [1001 1001 1001 1001 1001 1001 1001 1001]
// inout 0.3 i32 gen 8 = 0
// out 0.3 i32 [10 21 32 10 21 32 10 0]
module {
  gpu.module @kernels {
    gpu.func @main(%in: memref<8xi32>, %steps: memref<8xi32>, %reached: memref<8xi32>, %cases: memref<8xi32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c3 = arith.constant 3 : i32
      %c7 = arith.constant 7 : index
      %limit = arith.constant 20 : i32
      %thousand = arith.constant 1000 : i32
      %i = gpu.thread_id x
      %x = memref.load %in[%i] : memref<8xi32>
      cf.br ^head(%x, %c0 : i32, i32)
    ^head(%n: i32, %count: i32):
      %seen = arith.addi %n, %thousand : i32
      %one = arith.cmpi eq, %n, %c1 : i32
      cf.cond_br %one, ^done, ^more
    ^more:
      %over = arith.cmpi sge, %count, %limit : i32
      cf.cond_br %over, ^done, ^step
    ^step:
      %next = arith.addi %count, %c1 : i32
      %bit = arith.andi %n, %c1 : i32
      %odd = arith.cmpi eq, %bit, %c1 : i32
      cf.cond_br %odd, ^up, ^down
    ^up:
      %triple = arith.muli %n, %c3 : i32
      %more = arith.addi %triple, %c1 : i32
      cf.br ^head(%more, %next : i32, i32)
    ^down:
      %half = arith.shrui %n, %c1 : i32
      cf.br ^head(%half, %next : i32, i32)
    ^done:
      memref.store %count, %steps[%i] : memref<8xi32>
      memref.store %seen, %reached[%i] : memref<8xi32>
      %last = arith.cmpi eq, %i, %c7 : index
      cf.cond_br %last, ^leave, ^go
    ^leave:
      gpu.return
    ^go:
      %rest = arith.subi %x, %c1 : i32
      %case = arith.remui %rest, %c3 : i32
      cf.switch %case : i32, [
        default: ^two(%c2 : i32),
        0: ^zero,
        1: ^first
      ]
    ^zero:
      %ten = arith.constant 10 : i32
      cf.br ^end(%ten : i32)
    ^first:
      %eleven = arith.constant 11 : i32
      %ten1 = arith.constant 10 : i32
      %twentyone = arith.addi %eleven, %ten1 : i32
      cf.br ^end(%twentyone : i32)
    ^two(%w: i32):
      %thirty = arith.constant 30 : i32
      %r = arith.addi %thirty, %w : i32
      cf.br ^end(%r : i32)
    ^end(%value: i32):
      memref.store %value, %cases[%i] : memref<8xi32>
      gpu.return
    }
  }
}
