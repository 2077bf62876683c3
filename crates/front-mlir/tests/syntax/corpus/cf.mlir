// Blocks and branches.
func.func @branches(%c: i1, %i: i32, %x: f32) -> f32 {
  cf.assert %c, "a \"quoted\" message"
  cf.cond_br %c, ^left(%x : f32), ^right
^left(%y: f32):
  cf.br ^join(%y, %i : f32, i32)
^right:
  cf.switch %i : i32, [
    default: ^left(%x : f32),
    42: ^join(%x, %i : f32, i32),
    -1: ^right
  ]
^join(%z: f32, %j: i32):
  cf.cond_br %c, ^loop(%z, %j : f32, i32), ^done(%z : f32) {test.likely}
^loop(%l: f32, %k: i32):
  %next = arith.addi %k, %i : i32
  cf.br ^join(%l, %next : f32, i32)
^done(%r: f32):
  return %r : f32
}

func.func @single(%i: i64) {
  cf.switch %i : i64, [
    default: ^end
  ]
^end:
  cf.br ^last
^last:
  return
}
