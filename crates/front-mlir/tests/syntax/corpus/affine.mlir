// Maps, sets and what is written with them.
#map = affine_map<(d0, d1)[s0] -> (d0 * 2 + s0, (d1 + 3) floordiv 4, d0 mod 5 - d1)>
#ceil = affine_map<(i) -> (i ceildiv 8 * 8)>
#min = affine_map<(d0)[s0] -> (d0, s0 - 1, 4)>
#set = affine_set<(d0)[s0] : (d0 - 1 >= 0, s0 - d0 == 0, 2 * d0 <= s0)>
#empty = affine_map<() -> ()>
#folded = affine_map<(d0, d1) -> (4 + d0 * 3 * 2, 2 + 3, 1 * d1, 0 * d0 + d1, -d1, -(d0 - d1), (d0 + 1) + 2)>
module attributes {test.maps = [#map, #empty, #folded], test.set = #set} {
  func.func @maps(%i: index, %n: index, %m: memref<?x16xf32>, %x: f32) -> index {
    %0 = affine.apply #ceil(%i)
    %1 = affine.apply affine_map<(d0)[s0] -> (d0 * 16 + s0)>(%i)[%n]
    %2 = affine.min #min(%i)[%n]
    %3 = affine.max affine_map<(d0) -> (d0, 4)>(%i)
    affine.for %j = 0 to 16 {
      %4 = affine.load %m[%j + 1, %j floordiv 2] : memref<?x16xf32>
      %5 = affine.load %m[%j, symbol(%n) + 3] : memref<?x16xf32>
      affine.store %4, %m[%j * 2, 0] : memref<?x16xf32>
      affine.if #set(%j)[%n] {
        affine.store %5, %m[0, %j] : memref<?x16xf32>
      }
      %6 = affine.if #set(%j)[%n] -> f32 {
        affine.yield %x : f32
      } else {
        affine.yield %4 : f32
      }
    }
    affine.for %j = 0 to 4 {
      %8 = affine.vector_load %m[%j, %j + 4] : memref<?x16xf32>, vector<4xf32>
      affine.vector_store %8, %m[%j, symbol(%n)] : memref<?x16xf32>, vector<4xf32>
    }
    affine.for %j = -4 to %n step 4 {
    } {test.note}
    %7 = affine.for %j = max affine_map<(d0) -> (d0, 4)>(%i) to min #min(%i)[%n] step 2 iter_args(%a = %x) -> (f32) {
      affine.yield %a : f32
    }
    affine.for %j = #ceil(%i) to affine_map<()[s0] -> (s0 + 1)>()[%n] {
    }
    return %0 : index
  }
}
