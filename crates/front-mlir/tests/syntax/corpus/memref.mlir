// Memory.
#shifted = affine_map<(d0, d1)[s0] -> (d0 * 4 + d1 + s0)>
#identity = affine_map<(d0, d1) -> (d0, d1)>
memref.global "private" constant @table : memref<2x2xf32> = dense<[[1.0, 2.0], [3.0, 4.5]]>
memref.global "private" @splat : memref<4xi8> = dense<-1> {alignment = 64}
memref.global @later : memref<4xf32> = uninitialized
memref.global @elsewhere : memref<8xf32, 3>
memref.global "private" @shared : memref<16xf16, #gpu.address_space<workgroup>>
func.func @allocations(%n: index) {
  %0 = memref.alloc() : memref<16x16xf32>
  %1 = memref.alloc(%n) {alignment = 16 : i64} : memref<?x4xf32, #gpu.address_space<workgroup>>
  %2 = memref.alloc(%n)[%n] : memref<?x4xf32, #shifted>
  %3 = memref.alloca() : memref<4xvector<4xf32>, 5>
  %4 = memref.alloca(%n, %n) : memref<?x?xi32, #identity>
  memref.dealloc %0 : memref<16x16xf32>
  return
}
func.func @accesses(%m: memref<?x4xf32>, %n: index, %x: f32, %a: memref<4xi32>, %i: i32) {
  %0 = memref.load %m[%n, %n] : memref<?x4xf32>
  %1 = memref.load %m[%n, %n] {nontemporal = true} : memref<?x4xf32>
  memref.store %0, %m[%n, %n] : memref<?x4xf32>
  memref.store %0, %m[%n, %n] {nontemporal = true} : memref<?x4xf32>
  %2 = memref.dim %m, %n : memref<?x4xf32>
  %3 = memref.get_global @table : memref<2x2xf32>
  memref.copy %m, %m : memref<?x4xf32> to memref<?x4xf32>
  %4 = memref.atomic_rmw addf %x, %m[%n, %n] : (f32, memref<?x4xf32>) -> f32
  %5 = memref.atomic_rmw addi %i, %a[%n] : (i32, memref<4xi32>) -> i32
  %o = memref.atomic_rmw "muli" %i, %a[%n] : (i32, memref<4xi32>) -> i32
  %6 = memref.atomic_rmw assign %i, %a[%n] : (i32, memref<4xi32>) -> i32
  %7 = memref.atomic_rmw maxs %i, %a[%n] : (i32, memref<4xi32>) -> i32
  %8 = memref.atomic_rmw minu %i, %a[%n] : (i32, memref<4xi32>) -> i32
  %9 = memref.atomic_rmw ori %i, %a[%n] : (i32, memref<4xi32>) -> i32
  %10 = memref.atomic_rmw andi %i, %a[%n] : (i32, memref<4xi32>) -> i32
  %11 = memref.atomic_rmw maxnumf %x, %m[%n, %n] : (f32, memref<?x4xf32>) -> f32
  memref.assume_alignment %m, 16 : memref<?x4xf32>
  return
}
func.func @views(%m: memref<8x16xf32>, %n: index, %s: memref<?x4xf32>, %b: memref<64xi8>, %u: memref<*xf32>) {
  %0 = memref.subview %m[0, %n] [2, 2] [1, 1] : memref<8x16xf32> to memref<2x2xf32, strided<[16, 1], offset: ?>>
  %1 = memref.subview %m[1, 2][%n, 4][1, 2] : memref<8x16xf32> to memref<?x4xf32, strided<[16, 2], offset: 18>>
  %2 = memref.subview %m[1, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<16xf32, strided<[1], offset: 16>>
  %3 = memref.cast %m : memref<8x16xf32> to memref<?x?xf32, strided<[?, ?], offset: ?>>
  %4 = memref.reinterpret_cast %m to offset: [%n], sizes: [4, %n], strides: [%n, 1] : memref<8x16xf32> to memref<4x?xf32, strided<[?, 1], offset: ?>>
  %5 = memref.reinterpret_cast %m to offset: [0], sizes: [128], strides: [1] : memref<8x16xf32> to memref<128xf32>
  %6 = memref.collapse_shape %m [[0, 1]] : memref<8x16xf32> into memref<128xf32>
  %7 = memref.expand_shape %6 [[0, 1, 2]] output_shape [2, 8, 8] : memref<128xf32> into memref<2x8x8xf32>
  %8 = memref.collapse_shape %s [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  %9 = memref.expand_shape %8 [[0, 1]] output_shape [%n, 4] : memref<?xf32> into memref<?x4xf32>
  %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %s : memref<?x4xf32> -> memref<f32>, index, index, index, index, index
  %10 = memref.extract_aligned_pointer_as_index %s : memref<?x4xf32> -> index
  %11 = memref.memory_space_cast %s : memref<?x4xf32> to memref<?x4xf32, 1>
  %12 = memref.view %b[%n][] : memref<64xi8> to memref<4x4xf32>
  %13 = memref.view %b[%n][%n] : memref<64xi8> to memref<?x4xf32>
  %14 = memref.rank %u : memref<*xf32>
  return
}
