// What is refused, by its name and line: an operation that is not built where the entry point comes to it.
//
// test translate
// entry main
module {
  gpu.module @kernels {
    func.func private @inner(%x: f32) -> f32 {
      %y = "foo.bar"(%x) : (f32) -> f32     // error: unsupported: 8:12: foo.bar: the operation is not built
      return %y : f32
    }
    gpu.func @main(%a: memref<4xf32>) kernel {
      %c0 = arith.constant 0 : index
      %x = memref.load %a[%c0] : memref<4xf32>
      %y = func.call @inner(%x) : (f32) -> f32
      memref.store %y, %a[%c0] : memref<4xf32>
      gpu.return
    }
  }
}
