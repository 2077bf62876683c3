// A loop that is entered at two places.
//
// test translate
module {
  gpu.module @kernels {
    gpu.func @main(%a: memref<4xf32>, %x: i1) kernel {
      cf.cond_br %x, ^one, ^two
    ^one:
      cf.cond_br %x, ^two, ^end
    ^two:
      cf.br ^one // error: irreducible control flow
    ^end:
      gpu.return
    }
  }
}
