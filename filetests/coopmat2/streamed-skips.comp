// Rounds of a loop that are left out when the work-group finds nothing in a mask, which a GPU that brings factors to shared
// memory ahead does not know of: before both products of a round or between them, besides rounds that memory says to leave out,
// with addresses that are chosen behind the mask, with addresses that depend on how many rounds were done, and with one
// product whose sums begin with what is in memory.
//
// test run
// define KIND WAY
// define INVOCATIONS THREADS
// spec 0=M
// in 0.0 f16 rand 4096 1 -1 1 1
// in 0.1 f16 rand 16384 2 -1 1 1
// in 0.2 f16 rand 32768 3 -1 1 1
// in 0.3 f16 gen 65536 = div(i, 8192) * 5 % 8 < EMPTY ? -60000 : i % 3
// in 0.4 u32 [1 0 1 1 1 1 0 1]
// out 0.5 f32 8192 same
// in 0.6 f32 rand 8192 4 -9 9 1
// keys WAY=0 THREADS=128 M=64 EMPTY=3
// case plain:
// case none: EMPTY=0
// case all: EMPTY=8
// case between: WAY=1
// case known: WAY=2
// case chosen: WAY=3
// case counted: WAY=4
// case addend: WAY=5
// case groups: THREADS=256 M=128
// case groups-between: THREADS=256 M=128 WAY=1
// case few-rows: THREADS=256
#version 460
#include "matrices2.glsl"

layout(local_size_x = INVOCATIONS) in;
layout(constant_id = 0) const uint M = 64;
layout(set = 0, binding = 0) readonly buffer I0 { float16_t q[]; };
layout(set = 0, binding = 1) readonly buffer I1 { float16_t k[]; };
layout(set = 0, binding = 2) readonly buffer I2 { float16_t v[]; };
layout(set = 0, binding = 3) readonly buffer I3 { float16_t masks[]; };
layout(set = 0, binding = 4) readonly buffer I4 { uint wanted[]; };
layout(set = 0, binding = 5) buffer O5 { float sums[]; };
layout(set = 0, binding = 6) readonly buffer I6 { float start[]; };
#define MAT(T, R, C, U) coopmat<T, gl_ScopeWorkgroup, R, C, gl_MatrixUse##U>

float16_t greater(const in float16_t x, const in float16_t y) { return max(x, y); }

void main()
{
    const uint rounds = 8;
    MAT(float16_t, M, 32, A) left;
    coopMatLoad(left, q, 0, 32, ROW_MAJOR);
    MAT(float, M, 64, Accumulator) sum = MAT(float, M, 64, Accumulator)(0.0);
    if (KIND == 5)
        coopMatLoad(sum, start, 0, 64, ROW_MAJOR);
    uint done = 0;
    for (uint j = 0; j < rounds; ++j) {
        if (KIND == 2 && wanted[j] == 0)
            continue;
        MAT(float16_t, M, 64, Accumulator) mask, top;
        coopMatLoad(mask, masks, j * 8192, 64, ROW_MAJOR);
        coopMatReduceNV(top, mask, gl_CooperativeMatrixReduceRowAndColumnNV, greater);
        if (KIND != 1 && top[0] <= float16_t(-50000))
            continue;
        uint at = KIND == 4 ? done : j;
        if (KIND == 3) {
            if (wanted[j] == 0)
                at = rounds - 1 - j;
            else
                at = j;
        }
        ++done;
        MAT(float16_t, 32, 64, B) right;
        coopMatLoad(right, k, at * 2048, 32, COL_MAJOR);
        if (KIND == 5) {
            sum = coopMatMulAdd(left, right, sum);
            continue;
        }
        MAT(float, M, 64, Accumulator) found =
            coopMatMulAdd(left, right, MAT(float, M, 64, Accumulator)(0.0));
        if (KIND == 1 && top[0] <= float16_t(-50000))
            continue;
        found += MAT(float, M, 64, Accumulator)(mask);
        MAT(float16_t, 64, 64, B) other;
        coopMatLoad(other, v, at * 4096, 64, ROW_MAJOR);
        sum = coopMatMulAdd(MAT(float16_t, M, 64, A)(found), other, sum);
    }
    coopMatStore(sum, sums, 0, 64, ROW_MAJOR);
}
