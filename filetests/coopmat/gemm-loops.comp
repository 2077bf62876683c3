// A product of larger matrices by loops over arrays of matrices, as applications write it: an array of accumulators, a K
// loop whose trip count is a push constant or a specialisation constant, loops over the array that are unrolled by the
// source or not.
//
// test run
// subgroup 16 32
// isa all
// spec 0=LM 1=LN 2=LK 3=ROWS 4=COLS
// push u32 [K]
// define UNROLL(x) HINT
// dispatch 2 2 1
// in 0.0 f16 rand LM*ROWS*2*K 1 -1 1 0.5
// in 0.1 f16 rand LN*COLS*2*K 2 -1 1 0.5
// out 0.2 f32 gen LM*ROWS*2 x LN*COLS*2 = 0.5 + sum(k, K, $0.0[r * K + k] * $0.1[k * LN * COLS * 2 + c])
//
// case 2x2: LM=8 LN=8 LK=8 ROWS=2 COLS=2 K=32 HINT=[[dont_unroll]]
// case 2x2-unrolled: LM=8 LN=8 LK=8 ROWS=2 COLS=2 K=32 HINT=[[unroll]]
// case 4x4: LM=16 LN=16 LK=16 ROWS=2 COLS=4 K=48 HINT=[[unroll]]
// case odd: LM=5 LN=7 LK=3 ROWS=3 COLS=2 K=9 HINT=[[unroll]]
// case no-turn: LM=8 LN=8 LK=8 ROWS=1 COLS=1 K=0 HINT=[[unroll]]
// case 1x8: LM=4 LN=4 LK=16 ROWS=1 COLS=8 K=16 HINT=[[dont_unroll]]
#version 460
#extension GL_EXT_control_flow_attributes : require
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint LM = 1;
layout(constant_id = 1) const uint LN = 1;
layout(constant_id = 2) const uint LK = 1;
layout(constant_id = 3) const uint ROWS = 1;
layout(constant_id = 4) const uint COLS = 1;
layout(push_constant) uniform Push { uint K; };
layout(set = 0, binding = 0) readonly buffer InA { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer InB { float16_t b[]; };
layout(set = 0, binding = 2) buffer OutC { float c[]; };

void main()
{
    uint row = gl_WorkGroupID.y * LM * ROWS, column = gl_WorkGroupID.x * LN * COLS, n = LN * COLS * 2;
    MATRIX(float, LM, LN, Accumulator) sum[ROWS][COLS];
    UNROLL(1) for (uint i = 0; i < ROWS; ++i)
        UNROLL(1) for (uint j = 0; j < COLS; ++j)
            sum[i][j] = MATRIX(float, LM, LN, Accumulator)(0.5);
    for (uint k = 0; k < K; k += LK) {
        MATRIX(float16_t, LM, LK, A) matA[ROWS];
        UNROLL(1) for (uint i = 0; i < ROWS; ++i)
            coopMatLoad(matA[i], a, (row + LM * i) * K + k, K, ROW_MAJOR);
        UNROLL(1) for (uint j = 0; j < COLS; ++j) {
            MATRIX(float16_t, LK, LN, B) matB;
            coopMatLoad(matB, b, k * n + column + LN * j, n, ROW_MAJOR);
            UNROLL(1) for (uint i = 0; i < ROWS; ++i)
                sum[i][j] = coopMatMulAdd(matA[i], matB, sum[i][j]);
        }
    }
    UNROLL(1) for (uint i = 0; i < ROWS; ++i)
        UNROLL(1) for (uint j = 0; j < COLS; ++j)
            coopMatStore(sum[i][j], c, (row + LM * i) * n + column + LN * j, n, ROW_MAJOR);
}
