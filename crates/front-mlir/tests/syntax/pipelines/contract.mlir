#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#transposed = affine_map<(d0, d1) -> (d1, d0)>
func.func @contract(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<16x16xf16>, %bias: memref<16xf16>) {
  %zero = arith.constant 0.0 : f16
  %c0 = arith.constant 0 : index
  %splat = arith.constant dense<0.0> : vector<16x16xf16>
  %l = vector.transfer_read %a[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x16xf16>, vector<16x16xf16>
  %r = vector.transfer_read %b[%c0, %c0], %zero {in_bounds = [true, true], permutation_map = #transposed} : memref<16x16xf16>, vector<16x16xf16>
  %d = vector.contract {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %l, %r, %splat : vector<16x16xf16>, vector<16x16xf16> into vector<16x16xf16>
  %e = arith.maximumf %d, %splat : vector<16x16xf16>
  vector.transfer_write %e, %c[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf16>, memref<16x16xf16>
  return
}
