// Work-groups that stage from none to nine blocks of 16 along the inner dimension, so that some are staged together and
// some are left over, or none where their number is known: with a barrier behind the products or before what is staged,
// columns of B as rows, lines with and without something behind them, matrices in slices, and pieces that are copied under
// a condition.
//
// test run
// target interp passes cpu lowered
// subgroup 16 32
// dispatch 10 1 1
// keys PP=4 CC=0 BB=0 SS=16 RR=gl_WorkGroupID.x RN=div(r,MM)
// define ROUNDS RR
// define A_TYPE GA
// define C_TYPE GC
// define PAD PP
// define COLUMNS CC
// define BEFORE BB
// define SLICE SS
// define M MM
// define N NN
// in 0.0 TA gen MM*144 = i * 7 % 13 - 6
// in 0.1 TA gen 144*NN = i * 5 % 11 - 5
// out 0.2 TC gen 10*MM x NN = sum(k, 16 * RN, $0.0[r % MM * 144 + k] * $0.1[IB])
//
// case bytes: TA=i8 TC=i32 GA=int8_t GC=int MM=32 NN=32 IB=k*NN+c
// case bytes-columns: TA=i8 TC=i32 GA=int8_t GC=int MM=32 NN=32 CC=1 IB=c*144+k
// case bytes-before: TA=i8 TC=i32 GA=int8_t GC=int MM=32 NN=32 BB=1 PP=0 IB=k*NN+c
// case halves: TA=f16 TC=f32 GA=float16_t GC=float MM=64 NN=128 SS=8 IB=k*NN+c
// case halves-columns-before: TA=f16 TC=f32 GA=float16_t GC=float MM=64 NN=128 CC=1 BB=1 IB=c*144+k
// case sums-of-halves: TA=f16 TC=f16 GA=float16_t GC=float16_t MM=32 NN=32 IB=k*NN+c
// case sums-of-halves-columns-before: TA=f16 TC=f16 GA=float16_t GC=float16_t MM=64 NN=128 SS=8 CC=1 BB=1 IB=c*144+k
// case bytes-of-eight: TA=i8 TC=i32 GA=int8_t GC=int MM=32 NN=32 IB=k*NN+c RR=8 RN=8
// case bytes-of-six-before: TA=i8 TC=i32 GA=int8_t GC=int MM=32 NN=32 BB=1 CC=1 IB=c*144+k RR=6 RN=6
// case halves-of-nine: TA=f16 TC=f32 GA=float16_t GC=float MM=64 NN=128 SS=8 IB=k*NN+c RR=9 RN=9
// case sums-of-halves-of-four: TA=f16 TC=f16 GA=float16_t GC=float16_t MM=64 NN=128 IB=k*NN+c RR=4 RN=4
#version 460
#include "matrices.glsl"

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer InA { A_TYPE a[]; };
layout(set = 0, binding = 1) readonly buffer InB { A_TYPE b[]; };
layout(set = 0, binding = 2) buffer Sums { C_TYPE sums[]; };

const uint K = 16;
const uint LINE_A = K + PAD;
const uint B_LINES = COLUMNS != 0 ? N : K;
const uint B_WIDTH = COLUMNS != 0 ? K : N;
const uint LINE_B = B_WIDTH + PAD;
const int LAYOUT_B = COLUMNS != 0 ? COL_MAJOR : ROW_MAJOR;
shared A_TYPE blockA[M * LINE_A];
shared A_TYPE blockB[B_LINES * LINE_B];

void main()
{
    uint l = gl_LocalInvocationIndex;
    uint end = K * ROUNDS;
    // The first four subgroups compute a quarter each.
    bool multiplies = gl_SubgroupID < 4;
    uint row = M / 2 * (gl_SubgroupID / 2 % 2);
    uint column = N / 2 * (gl_SubgroupID % 2);
    MATRIX(C_TYPE, 16, 16, Accumulator) sum[M / 32][N / 32];
    for (uint i = 0; i < M / 32; ++i)
        for (uint j = 0; j < N / 32; ++j)
            sum[i][j] = MATRIX(C_TYPE, 16, 16, Accumulator)(0);
    for (uint step = 0; step < end; step += K) {
        if (BEFORE != 0) barrier();
        for (uint n = l; n < M * K; n += 128)
            blockA[n / K * LINE_A + n % K] = a[n / K * 144 + step + n % K];
        for (uint n = l; n < K * N; n += 128) {
            uint line = n / B_WIDTH, at = n % B_WIDTH;
            uint from = COLUMNS != 0 ? line * 144 + step + at : (step + line) * N + at;
            A_TYPE x = A_TYPE(0);
            // Never more than there is.
            if (step < 144) x = b[from];
            blockB[line * LINE_B + at] = x;
        }
        barrier();
        for (uint k = 0; k < K; k += SLICE) {
            for (uint i = 0; i < M / 32; ++i) {
                MATRIX(A_TYPE, 16, SLICE, A) matA;
                coopMatLoad(matA, blockA, LINE_A * (row + 16 * i) + k, LINE_A, ROW_MAJOR);
                for (uint j = 0; j < N / 32; ++j) {
                    MATRIX(A_TYPE, SLICE, 16, B) matB;
                    uint at = column + 16 * j;
                    coopMatLoad(matB, blockB, COLUMNS != 0 ? LINE_B * at + k : LINE_B * k + at, LINE_B, LAYOUT_B);
                    sum[i][j] = coopMatMulAdd(matA, matB, sum[i][j]);
                }
            }
        }
        if (BEFORE == 0) barrier();
    }
    if (multiplies)
        for (uint i = 0; i < M / 32; ++i)
            for (uint j = 0; j < N / 32; ++j)
                coopMatStore(sum[i][j], sums, (M * gl_WorkGroupID.x + row + 16 * i) * N + column + 16 * j, N, ROW_MAJOR);
}
