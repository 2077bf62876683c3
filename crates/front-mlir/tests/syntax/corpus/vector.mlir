// Vectors.
func.func @memory(%m: memref<?x16xf32>, %i: index, %x: f32, %k: vector<4xi1>, %v: vector<4xf32>, %l: memref<16xf32>, %e: memref<4xvector<4xf32>>, %z: vector<4xf32>, %iv: vector<4xindex>) {
  %0 = vector.load %m[%i, %i] : memref<?x16xf32>, vector<4xf32>
  %1 = vector.load %m[%i, %i] {nontemporal = true} : memref<?x16xf32>, vector<4xf32>
  vector.store %0, %m[%i, %i] : memref<?x16xf32>, vector<4xf32>
  %2 = vector.transfer_read %m[%i, %i], %x : memref<?x16xf32>, vector<4xf32>
  %3 = vector.transfer_read %m[%i, %i], %x {in_bounds = [true]} : memref<?x16xf32>, vector<4xf32>
  %4 = vector.transfer_read %m[%i, %i], %x, %k : memref<?x16xf32>, vector<4xf32>
  %5 = vector.transfer_read %m[%i, %i], %x {permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<?x16xf32>, vector<4xf32>
  %6 = vector.transfer_read %m[%i, %i], %x : memref<?x16xf32>, vector<4x4xf32>
  %7 = vector.transfer_read %l[%i], %x : memref<16xf32>, vector<f32>
  %8 = vector.transfer_read %e[%i], %z {in_bounds = []} : memref<4xvector<4xf32>>, vector<4xf32>
  vector.transfer_write %v, %m[%i, %i] : vector<4xf32>, memref<?x16xf32>
  vector.transfer_write %v, %m[%i, %i], %k {in_bounds = [true]} : vector<4xf32>, memref<?x16xf32>
  %9 = vector.maskedload %l[%i], %k, %v : memref<16xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.maskedstore %l[%i], %k, %v : memref<16xf32>, vector<4xi1>, vector<4xf32>
  %10 = vector.gather %l[%i] [%iv], %k, %v : memref<16xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  return
}
func.func @elements(%v: vector<4xf32>, %x: f32, %i: index, %w: i32, %m: vector<2x3xf32>, %r: vector<3xf32>, %p: vector<f32>) {
  %0 = vector.splat %x : vector<4xf32>
  %1 = vector.broadcast %x : f32 to vector<4xf32>
  %2 = vector.broadcast %r : vector<3xf32> to vector<2x3xf32>
  %3 = vector.insert %x, %v[2] : f32 into vector<4xf32>
  %4 = vector.insert %x, %v[%i] : f32 into vector<4xf32>
  %5 = vector.insert %r, %m[1] : vector<3xf32> into vector<2x3xf32>
  %6 = vector.extract %v[2] : f32 from vector<4xf32>
  %7 = vector.extract %v[%i] : f32 from vector<4xf32>
  %8 = vector.extract %m[0, 2] : f32 from vector<2x3xf32>
  %9 = vector.extract %p[] : f32 from vector<f32>
  %10 = vector.insertelement %x, %v[%w : i32] : vector<4xf32>
  %11 = vector.extractelement %v[%i : index] : vector<4xf32>
  %12 = vector.extractelement %p[] : vector<f32>
  %13 = vector.fma %v, %v, %v : vector<4xf32>
  %14 = vector.constant_mask [1, 2] : vector<2x3xi1>
  %15 = vector.create_mask %i : vector<4xi1>
  %16 = vector.shape_cast %v : vector<4xf32> to vector<2x2xf32>
  %17 = vector.bitcast %v : vector<4xf32> to vector<8xf16>
  %18 = vector.reduction <add>, %v : vector<4xf32> into f32
  %19 = vector.reduction <maximumf>, %v, %x fastmath<reassoc> : vector<4xf32> into f32
  %20 = vector.multi_reduction <mul>, %m, %r [0] : vector<2x3xf32> to vector<3xf32>
  %21 = vector.outerproduct %v, %r : vector<4xf32>, vector<3xf32>
  %22 = vector.outerproduct %v, %r, %21 {kind = #vector.kind<maxnumf>} : vector<4xf32>, vector<3xf32>
  %23 = vector.outerproduct %v, %x : vector<4xf32>, f32
  %24 = vector.shuffle %v, %v [0, 5, 2] : vector<4xf32>, vector<4xf32>
  %25 = vector.transpose %m, [1, 0] : vector<2x3xf32> to vector<3x2xf32>
  %26 = vector.extract_strided_slice %v {offsets = [1], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
  %27 = vector.insert_strided_slice %26, %v {offsets = [1], strides = [1]} : vector<2xf32> into vector<4xf32>
  %c = vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]} %16, %16, %16 : vector<2x2xf32>, vector<2x2xf32> into vector<2x2xf32>
  %d = vector.multi_reduction #vector.kind<maxnumf>, %m, %r [0] : vector<2x3xf32> to vector<3xf32>
  %28 = vector.step : vector<4xindex>
  return
}
