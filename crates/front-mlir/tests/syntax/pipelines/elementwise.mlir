#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @elementwise(%x: memref<64x32xf32>, %bias: memref<32xf32>, %y: memref<64x32xf32>) {
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %bias : memref<64x32xf32>, memref<32xf32>) outs(%y : memref<64x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %a, %b : f32
    %e = math.exp %s : f32
    %m = arith.maximumf %e, %zero : f32
    linalg.yield %m : f32
  }
  return
}
