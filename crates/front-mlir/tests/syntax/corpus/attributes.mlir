// Attributes, types, aliases and locations of all kinds, in generic form too.
#number = 4 : i8
#list = [#number, "text", unit]
!element = f16
!pair = tuple<!element, vector<4x!element>>
module attributes {
    test.a = 1, test.b = -1 : i32, test.c = 1.5, test.d = 2.5e10 : f32, test.e = "a \"b\"\n\\ \E2\82\AC", test.f = @a::@"b c"::@d,
    test.g = #list, test.h = {x = 1 : index, "y z" = false, w}, test.i = array<i32: 1, -2>, test.j = array<i1: true, false>,
    test.k = array<f32: 1.0, 2.5>, test.l = array<i64>, test.m = dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>,
    test.n = dense<0.0> : tensor<4xf32>, test.o = dense<> : tensor<0xi32>, test.p = !pair, test.q = (i32, f32) -> (), test.r = () -> (i1, none),
    test.s = #gpu.address_space<workgroup>, test.t = #spirv.target_env<#spirv.vce<v1.3, [Shader, GroupNonUniform], []>, #spirv.resource_limits<>>,
    test.u = affine_map<(d0) -> (d0 + 1)>, test.v = 0x10 : i16, test.w = 0x7FF0000000000000 : f64, test.x = 18446744073709551615 : ui64,
    test.y = -3 : si4, test.z = 1 : i1} {
  func.func private @types(memref<4xf32>, memref<?x4x!element, strided<[?, 1], offset: 3>>, memref<4xf32, strided<[2]>, #gpu.address_space<global>>,
    memref<*xi8>, memref<*xi8, 3>, memref<f32>, memref<2x2xf32, affine_map<(d0, d1) -> (d1, d0)>>, memref<4x4xf32, affine_map<(d0, d1) -> (d0, d1)>, 2>, memref<4xf32, 0>,
    memref<4xf32, "space">, vector<4xf32>, vector<f32>, vector<2x3x4xi1>, tensor<4x?xf32>, tensor<*xf32>, tensor<f32>, !pair, i1, i8, si16, ui32, i128, index, none,
    f16, bf16, f32, f64, f80, f128, tf32, f8E5M2, f8E4M3FN, (i32) -> f32, ((i32) -> f32) -> (), !gpu.async.token, !gpu.mma_matrix<8x16xsi8, "AOp">, !llvm.ptr, !llvm.struct<(i32, array<4 x f32>)>)
  "func.func"() <{function_type = (i32) -> i32, sym_name = "generic"}> ({
  ^entry(%a: i32):
    %0 = "arith.addi"(%a, %a) : (i32, i32) -> i32
    %1:2 = "arith.addui_extended"(%a, %0) {test.note = 1} : (i32, i32) -> (i32, i1)
    "cf.cond_br"(%1#1, %a, %0)[^next, ^next] <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (i1, i32, i32) -> ()
  ^next(%b: i32):
    "func.return"(%b) : (i32) -> ()
  }) : () -> ()
  func.func @places(%a: i32 loc("arg.mlir":1:2), %b: i32) -> i32 {
    %0 = arith.addi %a, %b : i32 loc("file.mlir":10:3)
    %1 = arith.addi %a, %b : i32 loc(#late)
    %2 = arith.addi %a, %b : i32 loc(callsite("callee" at "caller.mlir":2:2))
    %3 = arith.addi %a, %b : i32 loc(fused["name"("x.mlir":5:6), unknown])
    %4 = arith.addi %a, %b : i32 loc(fused<"pass">["one.mlir":1:1, "two.mlir":2:2])
    return %4 : i32 loc(unknown)
  } loc("func")
}
#late = loc("late.mlir":7:8)
