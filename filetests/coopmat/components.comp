// Components by a dynamic index: component i of invocation l is the row-major element i * W + l on a CPU (docs/ir.md), for
// every use and type, and on a GPU what a lane holds of a fragment, where W is 32 and nothing is padding; length() is the
// number of components, and those beyond the matrix are harmless.
//
// test run
// target interp passes cpu lowered
// keys USE=A LANE=(i%W) COMPONENT=(div(i,W)) FIRST=(i%W>=ROWS*COLS?0:$0.0[i%W])
// spec 0=ROWS 1=COLS
// define T G
// define USE_ USE
// in 0.0 TT rand ROWS*COLS 6 0 30 1
// out 0.1 TT gen ROWS*COLS = $0.0[i] + i % W + div(i, W)
// gpu TT gen ROWS x COLS = $0.0[i] + LANE + COMPONENT
// out 0.2 u32 gen 128 = div(ROWS * COLS + W - 1, W)
// out 0.3 TT gen 128 = i % W >= ROWS * COLS ? 0 : $0.0[i % W]
// gpu TT gen 128 = FIRST
//
// case f16-w32: TT=f16 G=float16_t ROWS=16 COLS=16 W=32
//     LANE=(r%8*4+div(c,2)%4) COMPONENT=(div(r,8)*4+div(c,8)*2+c%2) FIRST=$0.0[div(i%32,4)*16+i%4*2]
// subgroup 32
// case f16-b-w32: TT=f16 G=float16_t ROWS=16 COLS=24 W=32 USE=B
//     LANE=(c%8*4+div(r,2)%4) COMPONENT=(div(c,8)*4+div(r,8)*2+r%2) FIRST=$0.0[i%4*48+div(i%32,4)]
// subgroup 32
// case f32-acc-w32: TT=f32 G=float ROWS=24 COLS=16 W=32 USE=Accumulator
//     LANE=(r%8*4+div(c,2)%4) COMPONENT=(div(r,8)*4+div(c,8)*2+c%2) FIRST=$0.0[div(i%32,4)*16+i%4*2]
// subgroup 32
// case i8-a-w32: TT=i8 G=int8_t ROWS=16 COLS=32 W=32
//     LANE=(r%8*4+div(c,4)%4) COMPONENT=(div(r,8)*8+div(c,16)*4+c%4) FIRST=$0.0[div(i%32,4)*32+i%4*4]
// subgroup 32
// case u8-b-w32: TT=u8 G=uint8_t ROWS=32 COLS=8 W=32 USE=B
//     LANE=(c%8*4+div(r,4)%4) COMPONENT=(div(r,16)*4+r%4) FIRST=$0.0[i%4*32+div(i%32,4)]
// subgroup 32
// case f16-b-w4: TT=f16 G=float16_t ROWS=16 COLS=8 W=4 USE=B
// subgroup 4
// case f32-acc-w8: TT=f32 G=float ROWS=5 COLS=7 W=8 USE=Accumulator
// subgroup 8
// case f32-acc-w64: TT=f32 G=float ROWS=3 COLS=7 W=64 USE=Accumulator
// subgroup 64
// case i8-b-w16: TT=i8 G=int8_t ROWS=12 COLS=5 W=16 USE=B
// subgroup 16
// case u8-w128: TT=u8 G=uint8_t ROWS=20 COLS=20 W=128
// subgroup 128
// case i32-acc-w32: TT=i32 G=int ROWS=9 COLS=31 W=32 USE=Accumulator
// subgroup 32
// case u16-w32: TT=u16 G=uint16_t ROWS=64 COLS=2 W=32 USE=B
// subgroup 32
// case f16-small-w32: TT=f16 G=float16_t ROWS=1 COLS=3 W=32 USE=B
// subgroup 32
#version 460
#include "matrices.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(set = 0, binding = 0) readonly buffer In { T a[]; };
layout(set = 0, binding = 1) buffer Out { T b[]; };
layout(set = 0, binding = 2) buffer Lengths { uint lengths[]; };
layout(set = 0, binding = 3) buffer Firsts { T firsts[]; };
#define GLUE(x, y) x##y
#define MATRIX_USE(u) GLUE(gl_MatrixUse, u)

void main()
{
    uint lane = gl_SubgroupInvocationID;
    coopmat<T, gl_ScopeSubgroup, ROWS, COLS, MATRIX_USE(USE_)> m;
    coopMatLoad(m, a, 0, COLS, ROW_MAJOR);
    firsts[gl_LocalInvocationIndex] = m[0];
    for (int i = 0; i < m.length(); ++i)
        m[i] = m[i] + T(lane) + T(i);
    coopMatStore(m, b, 0, COLS, ROW_MAJOR);
    lengths[gl_LocalInvocationIndex] = m.length();
}
