// A convolution with 3x3 taps of an image with its channels last, f16 into f32, as products of matrices.
//
// The image has a border of zeros. Its pixels are read as one list, row behind row, so that the pixel of a tap is a fixed
// number of places further on, and sixteen pixels in a row are the rows of a tile of A. What is computed for the pixels of
// the border means nothing. The weights have a row for each channel of each tap.
//
// A work-group, one subgroup, computes 64 pixels times 64 filters. The three taps of a row of the filter read tiles that
// overlap: each begins a pixel, one row of its matrix, behind the one before.
//
// The sizes are those of an image of 56x56 pixels; the workload puts its own in the place of these lines.
#channels = 64 : index
#filters = 64 : index
#width = 58 : index
!image = memref<3364x64xf16>
!weights = memref<576x64xf16>
!result = memref<3264x64xf32>

!a = !gpu.mma_matrix<16x32xf16, "AOp">
!b = !gpu.mma_matrix<32x64xf16, "BOp">
!c = !gpu.mma_matrix<16x64xf32, "COp">
module {
  gpu.module @conv {
    // Every tile is loaded: twelve for the three taps of a row.
    gpu.func @loads(%image: !image, %weights: !weights, %result: !result) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c48 = arith.constant 48 : index
      %c64 = arith.constant 64 : index
      %width = arith.constant #width
      %channels = arith.constant #channels
      %zero = arith.constant 0.0 : f32
      %block = gpu.block_id x
      %slice = gpu.block_id y
      %pixel = arith.muli %block, %c64 : index
      %filter = arith.muli %slice, %c64 : index
      %start = gpu.subgroup_mma_constant_matrix %zero : !c
      %sum:4 = scf.for %y = %c0 to %c3 step %c1 iter_args(%o0 = %start, %o1 = %start, %o2 = %start, %o3 = %start)
          -> (!c, !c, !c, !c) {
        %down = arith.muli %y, %width : index
        %first = arith.addi %pixel, %down : index
        %second = arith.addi %first, %c1 : index
        %third = arith.addi %first, %c2 : index
        %tap = arith.muli %y, %c3 : index
        %above = arith.muli %tap, %channels : index
        %row:4 = scf.for %channel = %c0 to %channels step %c32 iter_args(%s0 = %o0, %s1 = %o1, %s2 = %o2, %s3 = %o3)
            -> (!c, !c, !c, !c) {
          %l0 = gpu.subgroup_mma_load_matrix %image[%first, %channel] {leadDimension = #channels} : !image -> !a
          %l1_at = arith.addi %first, %c16 : index
          %l1 = gpu.subgroup_mma_load_matrix %image[%l1_at, %channel] {leadDimension = #channels} : !image -> !a
          %l2_at = arith.addi %first, %c32 : index
          %l2 = gpu.subgroup_mma_load_matrix %image[%l2_at, %channel] {leadDimension = #channels} : !image -> !a
          %l3_at = arith.addi %first, %c48 : index
          %l3 = gpu.subgroup_mma_load_matrix %image[%l3_at, %channel] {leadDimension = #channels} : !image -> !a
          %m0 = gpu.subgroup_mma_load_matrix %image[%second, %channel] {leadDimension = #channels} : !image -> !a
          %m1_at = arith.addi %second, %c16 : index
          %m1 = gpu.subgroup_mma_load_matrix %image[%m1_at, %channel] {leadDimension = #channels} : !image -> !a
          %m2_at = arith.addi %second, %c32 : index
          %m2 = gpu.subgroup_mma_load_matrix %image[%m2_at, %channel] {leadDimension = #channels} : !image -> !a
          %m3_at = arith.addi %second, %c48 : index
          %m3 = gpu.subgroup_mma_load_matrix %image[%m3_at, %channel] {leadDimension = #channels} : !image -> !a
          %r0 = gpu.subgroup_mma_load_matrix %image[%third, %channel] {leadDimension = #channels} : !image -> !a
          %r1_at = arith.addi %third, %c16 : index
          %r1 = gpu.subgroup_mma_load_matrix %image[%r1_at, %channel] {leadDimension = #channels} : !image -> !a
          %r2_at = arith.addi %third, %c32 : index
          %r2 = gpu.subgroup_mma_load_matrix %image[%r2_at, %channel] {leadDimension = #channels} : !image -> !a
          %r3_at = arith.addi %third, %c48 : index
          %r3 = gpu.subgroup_mma_load_matrix %image[%r3_at, %channel] {leadDimension = #channels} : !image -> !a
          %w0_at = arith.addi %above, %channel : index
          %w1_at = arith.addi %w0_at, %channels : index
          %w2_at = arith.addi %w1_at, %channels : index
          %w0 = gpu.subgroup_mma_load_matrix %weights[%w0_at, %filter] {leadDimension = #filters} : !weights -> !b
          %w1 = gpu.subgroup_mma_load_matrix %weights[%w1_at, %filter] {leadDimension = #filters} : !weights -> !b
          %w2 = gpu.subgroup_mma_load_matrix %weights[%w2_at, %filter] {leadDimension = #filters} : !weights -> !b
          %t0 = gpu.subgroup_mma_compute %l0, %w0, %s0 : !a, !b -> !c
          %u0 = gpu.subgroup_mma_compute %m0, %w1, %t0 : !a, !b -> !c
          %v0 = gpu.subgroup_mma_compute %r0, %w2, %u0 : !a, !b -> !c
          %t1 = gpu.subgroup_mma_compute %l1, %w0, %s1 : !a, !b -> !c
          %u1 = gpu.subgroup_mma_compute %m1, %w1, %t1 : !a, !b -> !c
          %v1 = gpu.subgroup_mma_compute %r1, %w2, %u1 : !a, !b -> !c
          %t2 = gpu.subgroup_mma_compute %l2, %w0, %s2 : !a, !b -> !c
          %u2 = gpu.subgroup_mma_compute %m2, %w1, %t2 : !a, !b -> !c
          %v2 = gpu.subgroup_mma_compute %r2, %w2, %u2 : !a, !b -> !c
          %t3 = gpu.subgroup_mma_compute %l3, %w0, %s3 : !a, !b -> !c
          %u3 = gpu.subgroup_mma_compute %m3, %w1, %t3 : !a, !b -> !c
          %v3 = gpu.subgroup_mma_compute %r3, %w2, %u3 : !a, !b -> !c
          scf.yield %v0, %v1, %v2, %v3 : !c, !c, !c, !c
        }
        scf.yield %row#0, %row#1, %row#2, %row#3 : !c, !c, !c, !c
      }
      gpu.subgroup_mma_store_matrix %sum#0, %result[%pixel, %filter] {leadDimension = #filters} : !c, !result
      %to1 = arith.addi %pixel, %c16 : index
      gpu.subgroup_mma_store_matrix %sum#1, %result[%to1, %filter] {leadDimension = #filters} : !c, !result
      %to2 = arith.addi %pixel, %c32 : index
      gpu.subgroup_mma_store_matrix %sum#2, %result[%to2, %filter] {leadDimension = #filters} : !c, !result
      %to3 = arith.addi %pixel, %c48 : index
      gpu.subgroup_mma_store_matrix %sum#3, %result[%to3, %filter] {leadDimension = #filters} : !c, !result
      gpu.return
    }

    // Five tiles that do not overlap are loaded, and the others are rotated out of two neighbours.
    gpu.func @rotations(%image: !image, %weights: !weights, %result: !result) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c48 = arith.constant 48 : index
      %c64 = arith.constant 64 : index
      %width = arith.constant #width
      %channels = arith.constant #channels
      %zero = arith.constant 0.0 : f32
      %block = gpu.block_id x
      %slice = gpu.block_id y
      %pixel = arith.muli %block, %c64 : index
      %filter = arith.muli %slice, %c64 : index
      %start = gpu.subgroup_mma_constant_matrix %zero : !c
      %sum:4 = scf.for %y = %c0 to %c3 step %c1 iter_args(%o0 = %start, %o1 = %start, %o2 = %start, %o3 = %start)
          -> (!c, !c, !c, !c) {
        %down = arith.muli %y, %width : index
        %first = arith.addi %pixel, %down : index
        %tap = arith.muli %y, %c3 : index
        %above = arith.muli %tap, %channels : index
        %row:4 = scf.for %channel = %c0 to %channels step %c32 iter_args(%s0 = %o0, %s1 = %o1, %s2 = %o2, %s3 = %o3)
            -> (!c, !c, !c, !c) {
          %l0 = gpu.subgroup_mma_load_matrix %image[%first, %channel] {leadDimension = #channels} : !image -> !a
          %l1_at = arith.addi %first, %c16 : index
          %l1 = gpu.subgroup_mma_load_matrix %image[%l1_at, %channel] {leadDimension = #channels} : !image -> !a
          %l2_at = arith.addi %first, %c32 : index
          %l2 = gpu.subgroup_mma_load_matrix %image[%l2_at, %channel] {leadDimension = #channels} : !image -> !a
          %l3_at = arith.addi %first, %c48 : index
          %l3 = gpu.subgroup_mma_load_matrix %image[%l3_at, %channel] {leadDimension = #channels} : !image -> !a
          %l4_at = arith.addi %first, %c64 : index
          %l4 = gpu.subgroup_mma_load_matrix %image[%l4_at, %channel] {leadDimension = #channels} : !image -> !a
          %m0 = gpu.subgroup_mma_rotate %l0, %l1, %c32 : !a, !a, index -> !a
          %m1 = gpu.subgroup_mma_rotate %l1, %l2, %c32 : !a, !a, index -> !a
          %m2 = gpu.subgroup_mma_rotate %l2, %l3, %c32 : !a, !a, index -> !a
          %m3 = gpu.subgroup_mma_rotate %l3, %l4, %c32 : !a, !a, index -> !a
          %r0 = gpu.subgroup_mma_rotate %l0, %l1, %c64 : !a, !a, index -> !a
          %r1 = gpu.subgroup_mma_rotate %l1, %l2, %c64 : !a, !a, index -> !a
          %r2 = gpu.subgroup_mma_rotate %l2, %l3, %c64 : !a, !a, index -> !a
          %r3 = gpu.subgroup_mma_rotate %l3, %l4, %c64 : !a, !a, index -> !a
          %w0_at = arith.addi %above, %channel : index
          %w1_at = arith.addi %w0_at, %channels : index
          %w2_at = arith.addi %w1_at, %channels : index
          %w0 = gpu.subgroup_mma_load_matrix %weights[%w0_at, %filter] {leadDimension = #filters} : !weights -> !b
          %w1 = gpu.subgroup_mma_load_matrix %weights[%w1_at, %filter] {leadDimension = #filters} : !weights -> !b
          %w2 = gpu.subgroup_mma_load_matrix %weights[%w2_at, %filter] {leadDimension = #filters} : !weights -> !b
          %t0 = gpu.subgroup_mma_compute %l0, %w0, %s0 : !a, !b -> !c
          %u0 = gpu.subgroup_mma_compute %m0, %w1, %t0 : !a, !b -> !c
          %v0 = gpu.subgroup_mma_compute %r0, %w2, %u0 : !a, !b -> !c
          %t1 = gpu.subgroup_mma_compute %l1, %w0, %s1 : !a, !b -> !c
          %u1 = gpu.subgroup_mma_compute %m1, %w1, %t1 : !a, !b -> !c
          %v1 = gpu.subgroup_mma_compute %r1, %w2, %u1 : !a, !b -> !c
          %t2 = gpu.subgroup_mma_compute %l2, %w0, %s2 : !a, !b -> !c
          %u2 = gpu.subgroup_mma_compute %m2, %w1, %t2 : !a, !b -> !c
          %v2 = gpu.subgroup_mma_compute %r2, %w2, %u2 : !a, !b -> !c
          %t3 = gpu.subgroup_mma_compute %l3, %w0, %s3 : !a, !b -> !c
          %u3 = gpu.subgroup_mma_compute %m3, %w1, %t3 : !a, !b -> !c
          %v3 = gpu.subgroup_mma_compute %r3, %w2, %u3 : !a, !b -> !c
          scf.yield %v0, %v1, %v2, %v3 : !c, !c, !c, !c
        }
        scf.yield %row#0, %row#1, %row#2, %row#3 : !c, !c, !c, !c
      }
      gpu.subgroup_mma_store_matrix %sum#0, %result[%pixel, %filter] {leadDimension = #filters} : !c, !result
      %to1 = arith.addi %pixel, %c16 : index
      gpu.subgroup_mma_store_matrix %sum#1, %result[%to1, %filter] {leadDimension = #filters} : !c, !result
      %to2 = arith.addi %pixel, %c32 : index
      gpu.subgroup_mma_store_matrix %sum#2, %result[%to2, %filter] {leadDimension = #filters} : !c, !result
      %to3 = arith.addi %pixel, %c48 : index
      gpu.subgroup_mma_store_matrix %sum#3, %result[%to3, %filter] {leadDimension = #filters} : !c, !result
      gpu.return
    }
  }
}
