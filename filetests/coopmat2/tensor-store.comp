// Stores to a slice: what lies outside of the tensor is discarded with every clamp mode; the rest stays as it was.
//
// test run
// subgroup 4 32
// spec 0=R 1=C 2=H 3=W 4=OR 5=OC
// define T G
// define USE_ USE
// define MODE CLAMP
// in 0.0 TT rand R*C 5 0 7 1
// in 0.1 i32 [H W OR OC]
// inout 0.2 TT fill H*W 9
// out 0.2 TT gen H x W = r-(OR)>=0&&r-(OR)<R&&c-(OC)>=0&&c-(OC)<C?$0.0[(r-(OR))*C+c-(OC)]:9
//
// case undefined-f16-a-4x6-at3.5: TT=f16 G=float16_t USE=A R=4 C=6 H=20 W=24 OR=3 OC=5 CLAMP=Undefined
// case undefined-f32-b-16x16-at8.16: TT=f32 G=float USE=B R=16 C=16 H=40 W=32 OR=8 OC=16 CLAMP=Undefined
// case undefined-bf16-accumulator-1x1-at4.6: TT=bf16 G=bfloat16_t USE=Accumulator R=1 C=1 H=5 W=7 OR=4 OC=6 CLAMP=Undefined
// case undefined-e4m3-a-3x5-at6.6: TT=e4m3 G=floate4m3_t USE=A R=3 C=5 H=9 W=11 OR=6 OC=6 CLAMP=Undefined
// case constant-e5m2-b-4x6-at3.5: TT=e5m2 G=floate5m2_t USE=B R=4 C=6 H=20 W=24 OR=3 OC=5 CLAMP=Constant
// case constant-i8-accumulator-16x16-at8.16: TT=i8 G=int8_t USE=Accumulator R=16 C=16 H=40 W=32 OR=8 OC=16 CLAMP=Constant
// case constant-u8-a-1x1-at4.6: TT=u8 G=uint8_t USE=A R=1 C=1 H=5 W=7 OR=4 OC=6 CLAMP=Constant
// case constant-i16-b-3x5-at6.6: TT=i16 G=int16_t USE=B R=3 C=5 H=9 W=11 OR=6 OC=6 CLAMP=Constant
// case constant-u16-accumulator-16x16-at-3.-5: TT=u16 G=uint16_t USE=Accumulator R=16 C=16 H=20 W=20 OR=-3 OC=-5 CLAMP=Constant
// case constant-i32-a-8x8-at6.7: TT=i32 G=int32_t USE=A R=8 C=8 H=10 W=12 OR=6 OC=7 CLAMP=Constant
// case constant-u32-b-5x7-at-9.-8: TT=u32 G=uint32_t USE=B R=5 C=7 H=4 W=3 OR=-9 OC=-8 CLAMP=Constant
// case constant-f16-accumulator-3x33-at4.-1: TT=f16 G=float16_t USE=Accumulator R=3 C=33 H=6 W=35 OR=4 OC=-1 CLAMP=Constant
// case constant-f32-a-33x3-at-40.2: TT=f32 G=float USE=A R=33 C=3 H=7 W=9 OR=-40 OC=2 CLAMP=Constant
// case clamptoedge-bf16-b-4x6-at3.5: TT=bf16 G=bfloat16_t USE=B R=4 C=6 H=20 W=24 OR=3 OC=5 CLAMP=ClampToEdge
// case clamptoedge-e4m3-accumulator-16x16-at8.16: TT=e4m3 G=floate4m3_t USE=Accumulator R=16 C=16 H=40 W=32 OR=8 OC=16 CLAMP=ClampToEdge
// case clamptoedge-e5m2-a-1x1-at4.6: TT=e5m2 G=floate5m2_t USE=A R=1 C=1 H=5 W=7 OR=4 OC=6 CLAMP=ClampToEdge
// case clamptoedge-i8-b-3x5-at6.6: TT=i8 G=int8_t USE=B R=3 C=5 H=9 W=11 OR=6 OC=6 CLAMP=ClampToEdge
// case clamptoedge-u8-accumulator-16x16-at-3.-5: TT=u8 G=uint8_t USE=Accumulator R=16 C=16 H=20 W=20 OR=-3 OC=-5 CLAMP=ClampToEdge
// case clamptoedge-i16-a-8x8-at6.7: TT=i16 G=int16_t USE=A R=8 C=8 H=10 W=12 OR=6 OC=7 CLAMP=ClampToEdge
// case clamptoedge-u16-b-5x7-at-9.-8: TT=u16 G=uint16_t USE=B R=5 C=7 H=4 W=3 OR=-9 OC=-8 CLAMP=ClampToEdge
// case clamptoedge-i32-accumulator-3x33-at4.-1: TT=i32 G=int32_t USE=Accumulator R=3 C=33 H=6 W=35 OR=4 OC=-1 CLAMP=ClampToEdge
// case clamptoedge-u32-a-33x3-at-40.2: TT=u32 G=uint32_t USE=A R=33 C=3 H=7 W=9 OR=-40 OC=2 CLAMP=ClampToEdge
// case repeat-f16-b-4x6-at3.5: TT=f16 G=float16_t USE=B R=4 C=6 H=20 W=24 OR=3 OC=5 CLAMP=Repeat
// case repeat-f32-accumulator-16x16-at8.16: TT=f32 G=float USE=Accumulator R=16 C=16 H=40 W=32 OR=8 OC=16 CLAMP=Repeat
// case repeat-bf16-a-1x1-at4.6: TT=bf16 G=bfloat16_t USE=A R=1 C=1 H=5 W=7 OR=4 OC=6 CLAMP=Repeat
// case repeat-e4m3-b-3x5-at6.6: TT=e4m3 G=floate4m3_t USE=B R=3 C=5 H=9 W=11 OR=6 OC=6 CLAMP=Repeat
// case repeat-e5m2-accumulator-16x16-at-3.-5: TT=e5m2 G=floate5m2_t USE=Accumulator R=16 C=16 H=20 W=20 OR=-3 OC=-5 CLAMP=Repeat
// case repeat-i8-a-8x8-at6.7: TT=i8 G=int8_t USE=A R=8 C=8 H=10 W=12 OR=6 OC=7 CLAMP=Repeat
// case repeat-u8-b-5x7-at-9.-8: TT=u8 G=uint8_t USE=B R=5 C=7 H=4 W=3 OR=-9 OC=-8 CLAMP=Repeat
// case repeat-i16-accumulator-3x33-at4.-1: TT=i16 G=int16_t USE=Accumulator R=3 C=33 H=6 W=35 OR=4 OC=-1 CLAMP=Repeat
// case repeat-u16-a-33x3-at-40.2: TT=u16 G=uint16_t USE=A R=33 C=3 H=7 W=9 OR=-40 OC=2 CLAMP=Repeat
// case mirrorrepeat-i32-b-4x6-at3.5: TT=i32 G=int32_t USE=B R=4 C=6 H=20 W=24 OR=3 OC=5 CLAMP=MirrorRepeat
// case mirrorrepeat-u32-accumulator-16x16-at8.16: TT=u32 G=uint32_t USE=Accumulator R=16 C=16 H=40 W=32 OR=8 OC=16 CLAMP=MirrorRepeat
// case mirrorrepeat-f16-a-1x1-at4.6: TT=f16 G=float16_t USE=A R=1 C=1 H=5 W=7 OR=4 OC=6 CLAMP=MirrorRepeat
// case mirrorrepeat-f32-b-3x5-at6.6: TT=f32 G=float USE=B R=3 C=5 H=9 W=11 OR=6 OC=6 CLAMP=MirrorRepeat
// case mirrorrepeat-bf16-accumulator-16x16-at-3.-5: TT=bf16 G=bfloat16_t USE=Accumulator R=16 C=16 H=20 W=20 OR=-3 OC=-5 CLAMP=MirrorRepeat
// case mirrorrepeat-e4m3-a-8x8-at6.7: TT=e4m3 G=floate4m3_t USE=A R=8 C=8 H=10 W=12 OR=6 OC=7 CLAMP=MirrorRepeat
// case mirrorrepeat-e5m2-b-5x7-at-9.-8: TT=e5m2 G=floate5m2_t USE=B R=5 C=7 H=4 W=3 OR=-9 OC=-8 CLAMP=MirrorRepeat
// case mirrorrepeat-i8-accumulator-3x33-at4.-1: TT=i8 G=int8_t USE=Accumulator R=3 C=33 H=6 W=35 OR=4 OC=-1 CLAMP=MirrorRepeat
// case mirrorrepeat-u8-a-33x3-at-40.2: TT=u8 G=uint8_t USE=A R=33 C=3 H=7 W=9 OR=-40 OC=2 CLAMP=MirrorRepeat
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(constant_id = 2) const uint HEIGHT = 1;
layout(constant_id = 3) const uint WIDTH = 1;
layout(constant_id = 4) const int ROW = 0;
layout(constant_id = 5) const int COL = 0;
layout(set = 0, binding = 0) readonly buffer I0 { T a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { uint height; uint width; int row; int col; };
layout(set = 0, binding = 2) buffer O2 { T tensor[]; };
#define MODE_NV(m) GLUE2(gl_CooperativeMatrixClampMode, m, NV)
#define GLUE2(x, y, z) x##y##z

void main()
{
    coopmat<T, gl_ScopeSubgroup, ROWS, COLS, MATRIX_USE(USE_)> m;
    coopMatLoad(m, a, 0, COLS, ROW_MAJOR);
    tensorLayoutNV<2, MODE_NV(MODE)> t = createTensorLayoutNV(2, MODE_NV(MODE));
    t = setTensorLayoutDimensionNV(t, height, WIDTH);
    coopMatStoreTensorNV(m, tensor, 0, sliceTensorLayoutNV(t, ROW, ROWS, col, COLS));
}
