// Structured control flow.
func.func @loops(%n: index, %w: i32, %x: f32, %c: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %x) -> (f32) {
    %1 = arith.addf %sum, %x : f32
    scf.yield %1 : f32
  }
  %2:2 = scf.for %i = %w to %w step %w iter_args(%a = %x, %b = %w) -> (f32, i32) : i32 {
    scf.yield %a, %b : f32, i32
  } {test.unroll}
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %i to %n step %c1 {
    }
  }
  %3 = scf.while (%a = %w) : (i32) -> i32 {
    %more = arith.cmpi slt, %a, %w : i32
    scf.condition(%more) %a : i32
  } do {
  ^bb0(%b: i32):
    %next = arith.addi %b, %w : i32
    scf.yield %next : i32
  }
  scf.while : () -> () {
    scf.condition(%c)
  } do {
    scf.yield
  } attributes {test.forever}
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
    scf.reduce
  } {mapping = [#gpu.loop_dim_map<processor = block_x, map = (d0) -> (d0), bound = (d0) -> (d0)>, #gpu.loop_dim_map<processor = thread_x, map = (d0) -> (d0), bound = (d0) -> (d0)>]}
  %4:2 = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%x, %w) -> (f32, i32) {
    scf.reduce(%x, %w : f32, i32) {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      scf.reduce.return %s : f32
    }, {
    ^bb0(%l: i32, %r: i32):
      %s = arith.muli %l, %r : i32
      scf.reduce.return %s : i32
    }
  }
  return %0 : f32
}

func.func @choices(%c: i1, %x: f32, %i: index, %w: i32) -> f32 {
  %0:2 = scf.if %c -> (f32, i32) {
    scf.yield %x, %w : f32, i32
  } else {
    scf.yield %x, %w : f32, i32
  }
  return %x : f32
}

func.func @more_choices(%c: i1, %x: f32, %i: index, %w: i32) -> i32 {
  scf.if %c {
  }
  scf.if %c {
    scf.yield
  } else {
  } {test.note}
  %0 = scf.index_switch %i -> i32
  case 2 {
    scf.yield %w : i32
  }
  case -5 {
    scf.yield %w : i32
  }
  default {
    scf.yield %w : i32
  }
  scf.index_switch %i {test.note}
  default {
  }
  %1 = scf.execute_region -> i32 {
    cf.cond_br %c, ^a, ^b
  ^a:
    scf.yield %w : i32
  ^b:
    scf.yield %0 : i32
  }
  return %1 : i32
}
