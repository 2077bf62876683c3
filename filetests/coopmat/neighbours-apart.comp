// Products of which each work-group computes a matrix, where some work-groups go another way than their neighbours: those
// beyond the edge of the result return at once, or do nothing; some begin with zeros, some multiply by another matrix in
// some rounds, some leave a loop before the others, and some go apart only behind a store.
//
// test run
// target interp passes cpu
// isa all
// subgroup 32
// push u32 [ROWS COLS 48]
// define WAY HOW
// keys M=16*GY N=16*GX FIRST=1 KR=48 A0=$0.0[r*48+k] DONE=(r<16*ROWS&&c<16*COLS) MARK=i
// dispatch GX GY 1
// in 0.0 f16 gen M*48 = i * 7 % 13 - 6
// in 0.1 f16 gen 48*N = i * 5 % 11 - 5
// inout 0.2 f32 gen M*N = i % 17
// out 0.2 f32 gen M x N = (r * N + c) % 17 * (DONE ? FIRST : 1) + (DONE ? sum(k, KR, A0 * $0.1[k * N + c]) : 0)
// inout 0.3 u32 gen GX*GY = 7
// out 0.3 u32 gen GX*GY = MARK
//
// case returns: HOW=RETURNS GX=17 GY=18 ROWS=9 COLS=16 MARK=(i%17<16&&div(i,17)<9?i:7)
// case skips: HOW=SKIPS GX=9 GY=9 ROWS=9 COLS=7 MARK=(i%9<7?i:7)
// case all: HOW=RETURNS GX=9 GY=8 ROWS=8 COLS=9
// case zeros: HOW=ZEROS GX=16 GY=9 ROWS=9 COLS=16 FIRST=(div(c,16)%3==0?0:1)
// case another: HOW=ANOTHER GX=16 GY=8 ROWS=8 COLS=16 A0=(c>=128&&k>=16?$0.0[k%16*48+r%16]:$0.0[r*48+k])
// case breaks: HOW=BREAKS GX=8 GY=8 ROWS=8 COLS=8 KR=(div(c,16)==5?32:48)
// case late: HOW=LATE GX=8 GY=8 ROWS=8 COLS=8 MARK=(i%8==3?1000:i)
#version 460
#include "matrices.glsl"

#define RETURNS 0
#define SKIPS 1
#define ZEROS 2
#define ANOTHER 3
#define BREAKS 4
#define LATE 5

layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint rows, columns, K; };
layout(set = 0, binding = 0) readonly buffer InA { float16_t a[]; };
layout(set = 0, binding = 1) readonly buffer InB { float16_t b[]; };
layout(set = 0, binding = 2) buffer Sums { float c[]; };
layout(set = 0, binding = 3) buffer Marks { uint marks[]; };

void multiply(uint row, uint column, uint N, uint number)
{
    MATRIX(float, 16, 16, Accumulator) sums = MATRIX(float, 16, 16, Accumulator)(0.0);
    if (WAY != ZEROS || gl_WorkGroupID.x % 3 != 0)
        coopMatLoad(sums, c, row * N + column, N, ROW_MAJOR);
    for (uint k = 0; k < K; k += 16) {
        if (WAY == BREAKS && gl_WorkGroupID.x == 5 && k == 32)
            break;
        MATRIX(float16_t, 16, 16, A) matA;
        MATRIX(float16_t, 16, 16, B) matB;
        if (WAY == ANOTHER && gl_WorkGroupID.x >= 8 && k >= 16)
            coopMatLoad(matA, a, 0, 48, COL_MAJOR);
        else
            coopMatLoad(matA, a, row * 48 + k, 48, ROW_MAJOR);
        coopMatLoad(matB, b, k * N + column, N, ROW_MAJOR);
        sums = coopMatMulAdd(matA, matB, sums);
    }
    coopMatStore(sums, c, row * N + column, N, ROW_MAJOR);
    if (gl_LocalInvocationIndex == 0)
        marks[number] = WAY == LATE && gl_WorkGroupID.x == 3 ? 1000 : number;
    if (WAY == LATE && gl_WorkGroupID.x == 3)
        marks[number] = 1000;
}

void main()
{
    uint N = 16 * gl_NumWorkGroups.x;
    uint row = 16 * gl_WorkGroupID.y, column = 16 * gl_WorkGroupID.x;
    uint number = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    if (WAY == RETURNS && (row >= 16 * rows || column >= 16 * columns))
        return;
    if (WAY != SKIPS || (row < 16 * rows && column < 16 * columns))
        multiply(row, column, N, number);
}
