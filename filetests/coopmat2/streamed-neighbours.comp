// Tiles of a product, whose neighbours multiply the same factors: a GPU may let two work-groups share what they load. Pairs
// along either axis and numbers that leave one over, tiles at the edges, strides that are told as the program runs and are no
// multiple of 16 bytes, rounds and ends that differ between neighbours, and two products of which one is shared.
//
// test run
// define KIND WAY
// spec 0=M 1=N
// dispatch X Y 1
// push u32 [DEPTH ROWS COLUMNS STRIDE]
// in 0.0 f16 rand 65536 1 -2 3 1
// in 0.1 f16 rand 98304 2 -2 3 1
// out 0.2 f32 32768 same
// keys WAY=0 M=64 N=128 X=2 Y=2 DEPTH=96 ROWS=128 COLUMNS=256 STRIDE=96
// case along-y:
// case along-x: M=128 N=64 ROWS=256 COLUMNS=128
// case one-left-over: X=1 Y=3 ROWS=192 COLUMNS=128
// case one-left-over-of-x: M=128 N=64 X=3 Y=1 ROWS=128 COLUMNS=192
// case ragged: ROWS=100 COLUMNS=200 DEPTH=75
// case ragged-along-x: M=128 N=64 ROWS=200 COLUMNS=100 DEPTH=75
// case odd-stride: STRIDE=100 DEPTH=75
// case one-round: DEPTH=32
// case no-round: DEPTH=0
// case many-rounds: DEPTH=384 STRIDE=400
// case rounds-of-x: WAY=1
// case rounds-of-y: WAY=2
// case end-of-y: WAY=3 ROWS=64
// case end-of-x: WAY=4 COLUMNS=128
// case two: WAY=5
#version 460
#include "matrices2.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint M = 64;
layout(constant_id = 1) const uint N = 64;
layout(push_constant) uniform Sizes { uint depth; uint rows; uint columns; uint stride; };
layout(set = 0, binding = 0) readonly buffer I0 { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { float16_t b[]; };
layout(set = 0, binding = 2) buffer O2 { float sums[]; };
#define ZEROS gl_CooperativeMatrixClampModeConstantNV
#define LAYOUT tensorLayoutNV<2, ZEROS>
#define MAT(T, R, C, U) coopmat<T, gl_ScopeWorkgroup, R, C, gl_MatrixUse##U>
const uint T = 32;

LAYOUT layoutOf(uint height, uint width, uint apart)
{
    LAYOUT l = setTensorLayoutDimensionNV(createTensorLayoutNV(2, ZEROS), height, width);
    return setTensorLayoutStrideNV(l, apart, 1);
}

void main()
{
    const uint row = M * gl_WorkGroupID.y, column = N * gl_WorkGroupID.x;
    if (KIND == 3 && row >= rows)
        return;
    if (KIND == 4 && column >= columns)
        return;
    uint end = depth;
    if (KIND == 1)
        end = min(depth, T * (gl_WorkGroupID.x + 1));
    if (KIND == 2)
        end = min(depth, T * (gl_WorkGroupID.y + 1));
    MAT(float, M, N, Accumulator) sum = MAT(float, M, N, Accumulator)(0);
    for (uint k = 0; k < end; k += T) {
        MAT(float16_t, M, T, A) x;
        MAT(float16_t, T, N, B) y;
        coopMatLoadTensorNV(x, a, 0, sliceTensorLayoutNV(layoutOf(rows, depth, stride), row, M, k, T));
        coopMatLoadTensorNV(y, b, 0, sliceTensorLayoutNV(layoutOf(depth, columns, 256), k, T, column, N));
        sum = coopMatMulAdd(x, y, sum);
        if (KIND == 5) {
            coopMatLoadTensorNV(x, b, 0, sliceTensorLayoutNV(layoutOf(rows, depth, 128), row, M, k, T));
            coopMatLoadTensorNV(y, a, 0, sliceTensorLayoutNV(layoutOf(depth, N, 256), k, T, 0, N));
            sum = coopMatMulAdd(x, y, sum);
        }
    }
    coopMatStoreTensorNV(sum, sums, 0, sliceTensorLayoutNV(layoutOf(rows, columns, columns), row, M, column, N));
}
