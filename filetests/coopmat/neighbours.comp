// Products of which each work-group computes a matrix or a few, so that those in a row of the grid load the same matrices of
// A, those in a column the same of B: of floats and bytes, with B by rows and by columns, with more work-groups than go
// together and with fewer, of several subgroups, with a number of rounds that depends on the row, with a loop of rounds in a
// loop of blocks of them, of a grid that is a line, added to what is there, with a function of each component, and of those of another matrix, and with a store by an invocation.
//
// test run
// target interp passes cpu
// isa all
// subgroup 32
// spec 0=LM 1=LN 2=LK 3=ROWS 4=COLS 5=SIZE
// push u32 [K]
// define ELEMENT GT
// define ADDEND ACC
// define B_LAYOUT LAYOUT
// define DEEP ROUNDS
// define SLICES BLOCK
// define TURNS PASSES
// define TIMES SCALE
// define LEAST LOW
// define MORE PLUS
// define GRID_WIDTH WIDTH
// keys M=(LM*ROWS*SUBGROUPS*GY) N=(LN*COLS*GX) SUBGROUPS=1 SIZE=32 ROWS=1 COLS=1 ROUNDS=K KR=K BLOCK=0 PASSES=1 WIDTH=0 DX=GX DY=GY LAYOUT=ROW_MAJOR BI=k*N+c ACC=float SCALE=1 LOW=-1000000 PLUS=0
// dispatch DX DY 2
// in 0.0 TYPE gen M*K = i * 7 % 13 - 6
// in 0.1 TYPE gen N*K = i * 5 % 11 - 5
// inout 0.2 SUM gen 2*M*N = i % 17
// out 0.2 SUM gen 2*M x N = max(SCALE * ((r * N + c) % 17 + sum(k, KR, $0.0[r % M * K + k] * $0.1[BI])), LOW) + PLUS * ((r * N + c) % 17)
// out 0.3 u32 gen 2*GX*GY = i
//
// case halves: TYPE=f16 GT=float16_t SUM=f32 LM=16 LN=16 LK=16 K=32 GX=9 GY=10
// case narrow: TYPE=f16 GT=float16_t SUM=f32 LM=8 LN=8 LK=8 K=24 GX=17 GY=16
// case columns: TYPE=f16 GT=float16_t SUM=f32 LM=16 LN=16 LK=16 K=16 GX=8 GY=9 LAYOUT=COL_MAJOR BI=c*K+k
// case bytes: TYPE=i8 GT=int8_t SUM=i32 ACC=int LM=16 LN=16 LK=32 K=64 GX=11 GY=8
// case several: TYPE=f16 GT=float16_t SUM=f32 LM=16 LN=8 LK=16 K=32 ROWS=2 COLS=2 GX=9 GY=5
// case large: TYPE=f16 GT=float16_t SUM=f32 LM=16 LN=16 LK=16 ROWS=4 COLS=4 K=48 GX=2 GY=2
// case components: TYPE=f16 GT=float16_t SUM=f32 LM=16 LN=16 LK=16 K=32 GX=9 GY=8 SCALE=2 LOW=-50
// case components-several: TYPE=i8 GT=int8_t SUM=i32 ACC=int LM=16 LN=16 LK=32 K=64 ROWS=2 COLS=2 GX=5 GY=4 SCALE=3 LOW=-40 PLUS=2
// case subgroups: TYPE=f16 GT=float16_t SUM=f32 LM=16 LN=16 LK=16 K=16 SUBGROUPS=2 SIZE=64 GX=9 GY=8
// case few: TYPE=f16 GT=float16_t SUM=f32 LM=16 LN=16 LK=16 K=16 GX=7 GY=8
// case deep: TYPE=f16 GT=float16_t SUM=f32 LM=8 LN=8 LK=8 K=152 GX=8 GY=16
// case deep-columns: TYPE=i8 GT=int8_t SUM=i32 ACC=int LM=8 LN=8 LK=8 K=144 GX=8 GY=16 LAYOUT=COL_MAJOR BI=c*K+k
// case deep-sums-of-halves: TYPE=f16 GT=float16_t SUM=f16 ACC=float16_t LM=8 LN=8 LK=8 K=152 GX=8 GY=16
// case blocks-sums-of-halves: TYPE=f16 GT=float16_t SUM=f16 ACC=float16_t LM=16 LN=16 LK=16 ROWS=2 COLS=2 K=160 GX=4 GY=4 BLOCK=32
// case blocks: TYPE=f16 GT=float16_t SUM=f32 LM=16 LN=16 LK=16 K=256 GX=8 GY=9 BLOCK=64
// case blocks-columns: TYPE=i8 GT=int8_t SUM=i32 ACC=int LM=16 LN=16 LK=32 ROWS=4 COLS=4 K=160 GX=2 GY=2 LAYOUT=COL_MAJOR BI=c*K+k BLOCK=32
// case whole-blocks: TYPE=f16 GT=float16_t SUM=f32 LM=16 LN=16 LK=16 K=192 GX=8 GY=8 BLOCK=96 ROUNDS=104
// case once: TYPE=f16 GT=float16_t SUM=f32 LM=16 LN=16 LK=16 K=160 GX=8 GY=8 BLOCK=32 PASSES=gl_NumWorkGroups.z
// case linear: TYPE=f16 GT=float16_t SUM=f32 LM=16 LN=16 LK=16 ROWS=2 K=144 GX=3 GY=2 WIDTH=3 DX=6 DY=1
// case uneven: TYPE=f16 GT=float16_t SUM=f32 LM=16 LN=16 LK=16 K=48 GX=9 GY=2 ROUNDS=(K-16*y) KR=48-16*div(r%M,16)
#version 460
#include "matrices.glsl"

layout(local_size_x_id = 5) in;
layout(constant_id = 0) const uint LM = 1;
layout(constant_id = 1) const uint LN = 1;
layout(constant_id = 2) const uint LK = 1;
layout(constant_id = 3) const uint ROWS = 1;
layout(constant_id = 4) const uint COLS = 1;
layout(push_constant) uniform Push { uint K; };
layout(set = 0, binding = 0) readonly buffer InA { ELEMENT a[]; };
layout(set = 0, binding = 1) readonly buffer InB { ELEMENT b[]; };
layout(set = 0, binding = 2) buffer Sums { ADDEND c[]; };
layout(set = 0, binding = 3) buffer Marks { uint marks[]; };

void main()
{
#if GRID_WIDTH == 0
    uint x = gl_WorkGroupID.x, y = gl_WorkGroupID.y;
    uint width = gl_NumWorkGroups.x, height = gl_NumWorkGroups.y;
#else
    uint x = gl_WorkGroupID.x % GRID_WIDTH, y = gl_WorkGroupID.x / GRID_WIDTH;
    uint width = GRID_WIDTH, height = gl_NumWorkGroups.x / GRID_WIDTH;
#endif
    uint M = LM * ROWS * gl_NumSubgroups * height, N = LN * COLS * width;
    uint row = LM * ROWS * (y * gl_NumSubgroups + gl_SubgroupID);
    uint column = LN * COLS * x;
    uint start = (M * gl_WorkGroupID.z + row) * N + column;
    MATRIX(ADDEND, LM, LN, Accumulator) sums[ROWS][COLS];
    for (uint i = 0; i < ROWS; ++i)
        for (uint j = 0; j < COLS; ++j)
            coopMatLoad(sums[i][j], c, start + LM * i * N + LN * j, N, ROW_MAJOR);
#if SLICES == 0
    for (uint k = 0; k < DEEP; k += LK) {
#else
    uint first = 0;
    for (uint turn = 0; turn < TURNS; ++turn)
    for (; first < DEEP; first += SLICES)
    for (uint k = first; k < first + SLICES; k += LK) {
#endif
        MATRIX(ELEMENT, LM, LK, A) matA[ROWS];
        for (uint i = 0; i < ROWS; ++i)
            coopMatLoad(matA[i], a, (row + LM * i) * K + k, K, ROW_MAJOR);
        for (uint j = 0; j < COLS; ++j) {
            MATRIX(ELEMENT, LK, LN, B) matB;
            uint at = column + LN * j;
            coopMatLoad(matB, b, B_LAYOUT == ROW_MAJOR ? k * N + at : at * K + k, B_LAYOUT == ROW_MAJOR ? N : K, B_LAYOUT);
            for (uint i = 0; i < ROWS; ++i)
                sums[i][j] = coopMatMulAdd(matA[i], matB, sums[i][j]);
        }
    }
    for (uint i = 0; i < ROWS; ++i)
        for (uint j = 0; j < COLS; ++j)
        {
#if TIMES != 1
            MATRIX(ADDEND, LM, LN, Accumulator) old;
            coopMatLoad(old, c, start + LM * i * N + LN * j, N, ROW_MAJOR);
            for (uint e = 0; e < old.length(); ++e)
                sums[i][j][e] = max(sums[i][j][e] * ADDEND(TIMES), ADDEND(LEAST)) + old[e] * ADDEND(MORE);
#endif
            coopMatStore(sums[i][j], c, start + LM * i * N + LN * j, N, ROW_MAJOR);
        }
    uint number = (gl_WorkGroupID.z * height + y) * width + x;
    if (gl_LocalInvocationIndex == 0)
        marks[number] = number;
}
