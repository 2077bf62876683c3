// The rung `shared` in MLIR, for f16 and sums of f32, matrices of 16x16x16 and tiles of 128x128x64, with B row by row.
//
// A work-group is two by two subgroups, and each computes 64x64 elements. In each step along K its invocations copy a block
// of A and a block of B, a word each at a time, into workgroup memory; then each subgroup multiplies the parts that it
// needs. The blocks of the next step are fetched into private memory before the multiplication starts.
//
// The sizes are those of 512x512x512; the ladder puts its own in the place of these lines.
#lda = 512 : index
#ldb = 512 : index
#depth = 512 : index
!a = memref<512x512xf16>
!b = memref<512x512xf16>
!c = memref<512x512xf32>

!block_a = memref<128x72xf16, #gpu.address_space<workgroup>>
!block_b = memref<64x136xf16, #gpu.address_space<workgroup>>
!own = memref<64xf16, #gpu.address_space<private>>
!x = !gpu.mma_matrix<16x16xf16, "AOp">
!y = !gpu.mma_matrix<16x16xf16, "BOp">
!z = !gpu.mma_matrix<16x16xf32, "COp">
module {
  gpu.module @ladder {
    // Loads this invocation's words of the blocks that start at %k, two elements each.
    func.func private @fetch(%a: !a, %b: !b, %own_a: !own, %own_b: !own, %row: index, %column: index, %k: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %id = gpu.thread_id x
      scf.for %n = %c0 to %c32 step %c1 {
        %first = arith.muli %n, %c128 : index
        %at = arith.addi %first, %id : index
        %to = arith.muli %n, %c2 : index
        %a_line = arith.divui %at, %c32 : index
        %a_word = arith.remui %at, %c32 : index
        %a_place = arith.muli %a_word, %c2 : index
        %a_row = arith.addi %row, %a_line : index
        %a_column = arith.addi %k, %a_place : index
        %a_two = vector.load %a[%a_row, %a_column] : !a, vector<2xf16>
        vector.store %a_two, %own_a[%to] : !own, vector<2xf16>
        %b_line = arith.divui %at, %c64 : index
        %b_word = arith.remui %at, %c64 : index
        %b_place = arith.muli %b_word, %c2 : index
        %b_row = arith.addi %k, %b_line : index
        %b_column = arith.addi %column, %b_place : index
        %b_two = vector.load %b[%b_row, %b_column] : !b, vector<2xf16>
        vector.store %b_two, %own_b[%to] : !own, vector<2xf16>
      }
      return
    }
    // Puts them where the whole work-group finds them.
    func.func private @stage(%own_a: !own, %own_b: !own, %block_a: !block_a, %block_b: !block_b) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %id = gpu.thread_id x
      scf.for %n = %c0 to %c32 step %c1 {
        %first = arith.muli %n, %c128 : index
        %at = arith.addi %first, %id : index
        %from = arith.muli %n, %c2 : index
        %a_line = arith.divui %at, %c32 : index
        %a_word = arith.remui %at, %c32 : index
        %a_place = arith.muli %a_word, %c2 : index
        %a_two = vector.load %own_a[%from] : !own, vector<2xf16>
        vector.store %a_two, %block_a[%a_line, %a_place] : !block_a, vector<2xf16>
        %b_line = arith.divui %at, %c64 : index
        %b_word = arith.remui %at, %c64 : index
        %b_place = arith.muli %b_word, %c2 : index
        %b_two = vector.load %own_b[%from] : !own, vector<2xf16>
        vector.store %b_two, %block_b[%b_line, %b_place] : !block_b, vector<2xf16>
      }
      return
    }
    gpu.func @shared(%a: !a, %b: !b, %c: !c, %d: !c) workgroup(%block_a: !block_a, %block_b: !block_b)
        private(%own_a: !own, %own_b: !own) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %c48 = arith.constant 48 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %depth = arith.constant #depth
      %block_x = gpu.block_id x
      %block_y = gpu.block_id y
      %row = arith.muli %block_y, %c128 : index
      %column = arith.muli %block_x, %c128 : index
      // The part of this subgroup.
      %subgroup = gpu.subgroup_id : index
      %part_y = arith.divui %subgroup, %c2 : index
      %part_x = arith.remui %subgroup, %c2 : index
      %i0 = arith.muli %part_y, %c64 : index
      %i1 = arith.addi %i0, %c16 : index
      %i2 = arith.addi %i0, %c32 : index
      %i3 = arith.addi %i0, %c48 : index
      %j0 = arith.muli %part_x, %c64 : index
      %j1 = arith.addi %j0, %c16 : index
      %j2 = arith.addi %j0, %c32 : index
      %j3 = arith.addi %j0, %c48 : index
      %row0 = arith.addi %row, %i0 : index
      %row1 = arith.addi %row, %i1 : index
      %row2 = arith.addi %row, %i2 : index
      %row3 = arith.addi %row, %i3 : index
      %column0 = arith.addi %column, %j0 : index
      %column1 = arith.addi %column, %j1 : index
      %column2 = arith.addi %column, %j2 : index
      %column3 = arith.addi %column, %j3 : index
      %c00_0 = gpu.subgroup_mma_load_matrix %c[%row0, %column0] {leadDimension = #ldb} : !c -> !z
      %c01_0 = gpu.subgroup_mma_load_matrix %c[%row0, %column1] {leadDimension = #ldb} : !c -> !z
      %c02_0 = gpu.subgroup_mma_load_matrix %c[%row0, %column2] {leadDimension = #ldb} : !c -> !z
      %c03_0 = gpu.subgroup_mma_load_matrix %c[%row0, %column3] {leadDimension = #ldb} : !c -> !z
      %c10_0 = gpu.subgroup_mma_load_matrix %c[%row1, %column0] {leadDimension = #ldb} : !c -> !z
      %c11_0 = gpu.subgroup_mma_load_matrix %c[%row1, %column1] {leadDimension = #ldb} : !c -> !z
      %c12_0 = gpu.subgroup_mma_load_matrix %c[%row1, %column2] {leadDimension = #ldb} : !c -> !z
      %c13_0 = gpu.subgroup_mma_load_matrix %c[%row1, %column3] {leadDimension = #ldb} : !c -> !z
      %c20_0 = gpu.subgroup_mma_load_matrix %c[%row2, %column0] {leadDimension = #ldb} : !c -> !z
      %c21_0 = gpu.subgroup_mma_load_matrix %c[%row2, %column1] {leadDimension = #ldb} : !c -> !z
      %c22_0 = gpu.subgroup_mma_load_matrix %c[%row2, %column2] {leadDimension = #ldb} : !c -> !z
      %c23_0 = gpu.subgroup_mma_load_matrix %c[%row2, %column3] {leadDimension = #ldb} : !c -> !z
      %c30_0 = gpu.subgroup_mma_load_matrix %c[%row3, %column0] {leadDimension = #ldb} : !c -> !z
      %c31_0 = gpu.subgroup_mma_load_matrix %c[%row3, %column1] {leadDimension = #ldb} : !c -> !z
      %c32_0 = gpu.subgroup_mma_load_matrix %c[%row3, %column2] {leadDimension = #ldb} : !c -> !z
      %c33_0 = gpu.subgroup_mma_load_matrix %c[%row3, %column3] {leadDimension = #ldb} : !c -> !z
      func.call @fetch(%a, %b, %own_a, %own_b, %row, %column, %c0) : (!a, !b, !own, !own, index, index, index) -> ()
      %sum:16 = scf.for %step = %c0 to %depth step %c64
          iter_args(%s00 = %c00_0, %s01 = %c01_0, %s02 = %c02_0, %s03 = %c03_0,
                    %s10 = %c10_0, %s11 = %c11_0, %s12 = %c12_0, %s13 = %c13_0,
                    %s20 = %c20_0, %s21 = %c21_0, %s22 = %c22_0, %s23 = %c23_0,
                    %s30 = %c30_0, %s31 = %c31_0, %s32 = %c32_0, %s33 = %c33_0)
          -> (!z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z) {
        // The matrices of the step before must have been read before they are overwritten.
        gpu.barrier
        func.call @stage(%own_a, %own_b, %block_a, %block_b) : (!own, !own, !block_a, !block_b) -> ()
        gpu.barrier
        %next = arith.addi %step, %c64 : index
        %goes_on = arith.cmpi ult, %next, %depth : index
        scf.if %goes_on {
          func.call @fetch(%a, %b, %own_a, %own_b, %row, %column, %next) : (!a, !b, !own, !own, index, index, index) -> ()
        }
        %part:16 = scf.for %k = %c0 to %c64 step %c16
            iter_args(%t00 = %s00, %t01 = %s01, %t02 = %s02, %t03 = %s03,
                      %t10 = %s10, %t11 = %s11, %t12 = %s12, %t13 = %s13,
                      %t20 = %s20, %t21 = %s21, %t22 = %s22, %t23 = %s23,
                      %t30 = %s30, %t31 = %s31, %t32 = %s32, %t33 = %s33)
            -> (!z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z) {
          %a0 = gpu.subgroup_mma_load_matrix %block_a[%i0, %k] {leadDimension = 72 : index} : !block_a -> !x
          %a1 = gpu.subgroup_mma_load_matrix %block_a[%i1, %k] {leadDimension = 72 : index} : !block_a -> !x
          %a2 = gpu.subgroup_mma_load_matrix %block_a[%i2, %k] {leadDimension = 72 : index} : !block_a -> !x
          %a3 = gpu.subgroup_mma_load_matrix %block_a[%i3, %k] {leadDimension = 72 : index} : !block_a -> !x
          %b0 = gpu.subgroup_mma_load_matrix %block_b[%k, %j0] {leadDimension = 136 : index} : !block_b -> !y
          %u00 = gpu.subgroup_mma_compute %a0, %b0, %t00 : !x, !y -> !z
          %u10 = gpu.subgroup_mma_compute %a1, %b0, %t10 : !x, !y -> !z
          %u20 = gpu.subgroup_mma_compute %a2, %b0, %t20 : !x, !y -> !z
          %u30 = gpu.subgroup_mma_compute %a3, %b0, %t30 : !x, !y -> !z
          %b1 = gpu.subgroup_mma_load_matrix %block_b[%k, %j1] {leadDimension = 136 : index} : !block_b -> !y
          %u01 = gpu.subgroup_mma_compute %a0, %b1, %t01 : !x, !y -> !z
          %u11 = gpu.subgroup_mma_compute %a1, %b1, %t11 : !x, !y -> !z
          %u21 = gpu.subgroup_mma_compute %a2, %b1, %t21 : !x, !y -> !z
          %u31 = gpu.subgroup_mma_compute %a3, %b1, %t31 : !x, !y -> !z
          %b2 = gpu.subgroup_mma_load_matrix %block_b[%k, %j2] {leadDimension = 136 : index} : !block_b -> !y
          %u02 = gpu.subgroup_mma_compute %a0, %b2, %t02 : !x, !y -> !z
          %u12 = gpu.subgroup_mma_compute %a1, %b2, %t12 : !x, !y -> !z
          %u22 = gpu.subgroup_mma_compute %a2, %b2, %t22 : !x, !y -> !z
          %u32 = gpu.subgroup_mma_compute %a3, %b2, %t32 : !x, !y -> !z
          %b3 = gpu.subgroup_mma_load_matrix %block_b[%k, %j3] {leadDimension = 136 : index} : !block_b -> !y
          %u03 = gpu.subgroup_mma_compute %a0, %b3, %t03 : !x, !y -> !z
          %u13 = gpu.subgroup_mma_compute %a1, %b3, %t13 : !x, !y -> !z
          %u23 = gpu.subgroup_mma_compute %a2, %b3, %t23 : !x, !y -> !z
          %u33 = gpu.subgroup_mma_compute %a3, %b3, %t33 : !x, !y -> !z
          scf.yield %u00, %u01, %u02, %u03,
                    %u10, %u11, %u12, %u13,
                    %u20, %u21, %u22, %u23,
                    %u30, %u31, %u32, %u33
                    : !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z
        }
        scf.yield %part#0, %part#1, %part#2, %part#3,
                  %part#4, %part#5, %part#6, %part#7,
                  %part#8, %part#9, %part#10, %part#11,
                  %part#12, %part#13, %part#14, %part#15
                  : !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z, !z
      }
      gpu.subgroup_mma_store_matrix %sum#0, %d[%row0, %column0] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#1, %d[%row0, %column1] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#2, %d[%row0, %column2] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#3, %d[%row0, %column3] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#4, %d[%row1, %column0] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#5, %d[%row1, %column1] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#6, %d[%row1, %column2] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#7, %d[%row1, %column3] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#8, %d[%row2, %column0] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#9, %d[%row2, %column1] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#10, %d[%row2, %column2] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#11, %d[%row2, %column3] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#12, %d[%row3, %column0] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#13, %d[%row3, %column1] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#14, %d[%row3, %column2] {leadDimension = #ldb} : !z, !c
      gpu.subgroup_mma_store_matrix %sum#15, %d[%row3, %column3] {leadDimension = #ldb} : !z, !c
      gpu.return
    }
  }
}
