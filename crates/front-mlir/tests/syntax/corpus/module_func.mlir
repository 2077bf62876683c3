// Modules and functions, names of all kinds, values before their lines.
module @outer attributes {test.version = 3 : i32} {
  func.func private @declared(i32, f32 {test.in}) -> (i32 {test.out = "x"}, f32)
  func.func nested @"a name, quoted"(%arg: i32 {test.first = 1 : i8}, %other: index) -> i32 attributes {no_inline} {
    return %arg : i32
  }
  func.func @unnamed(i32, i0) {
  ^entry(%a: i32, %b: i0):
    return
  }
  func.func public @none() {
    func.return
  }
  func.func @calls(%a: i32, %b: f32) -> (i32, f32) {
    %r:2 = func.call @declared(%a, %b) {test.hot} : (i32, f32) -> (i32, f32)
    call @none() : () -> ()
    %f = func.constant @declared : (i32, f32) -> (i32, f32)
    %s, %t = call_indirect %f(%r#0, %r#1) : (i32, f32) -> (i32, f32)
    return %s, %t : i32, f32
  }
  func.func @names(%0: i32, %a.b: i32, %$x: i32, %with-minus: i32, %_u: i32) {
    %1 = arith.addi %0, %a.b : i32
    %2 = arith.addi %$x, %with-minus : i32
    "func.return"() : () -> ()
  }
  func.func @order(%c: i1) -> i32 {
    cf.br ^first
  ^second:
    return %late : i32
  ^first:
    %late = arith.constant 3 : i32
    cf.br ^second
  }
  module {
  }
  func.func @undefined() -> vector<4xf32> {
    %p = ub.poison : vector<4xf32>
    return %p : vector<4xf32>
  }
  func.func @cast(%x: i64) -> index {
    %y = builtin.unrealized_conversion_cast %x : i64 to index
    return %y : index
  }
}
