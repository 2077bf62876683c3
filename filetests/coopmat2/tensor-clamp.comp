// Loads of a slice of two dimensions, inside of the tensor and over its edges, with every clamp mode, use and type;
// what the layout says comes from constants and from a buffer.
//
// test run
// subgroup 4 32
// keys CV=17 CB=17
// spec 0=R 1=C 2=H 3=W 4=OR 5=OC
// define T G
// define USE_ USE
// define MODE CLAMP
// in 0.0 TT rand H*W 5 0 7 1
// in 0.1 i32 [H W OR OC CB]
// out 0.2 TT gen R x C = EX
// out 0.3 TT gen R x C = EX
//
// case undefined-f16-a-4x6-at3.5: TT=f16 G=float16_t USE=A R=4 C=6 H=20 W=24 OR=3 OC=5 CLAMP=Undefined CB=14336 CV=0.5
//     EX=$0.0[(r+(OR))*W+c+(OC)]
// case undefined-f32-b-16x16-at8.16: TT=f32 G=float USE=B R=16 C=16 H=40 W=32 OR=8 OC=16 CLAMP=Undefined CB=1056964608 CV=0.5
//     EX=$0.0[(r+(OR))*W+c+(OC)]
// case undefined-bf16-accumulator-1x1-at4.6: TT=bf16 G=bfloat16_t USE=Accumulator R=1 C=1 H=5 W=7 OR=4 OC=6 CLAMP=Undefined CB=16128 CV=0.5
//     EX=$0.0[(r+(OR))*W+c+(OC)]
// case undefined-e4m3-a-3x5-at6.6: TT=e4m3 G=floate4m3_t USE=A R=3 C=5 H=9 W=11 OR=6 OC=6 CLAMP=Undefined CB=48 CV=0.5
//     EX=$0.0[(r+(OR))*W+c+(OC)]
// case constant-e5m2-b-4x6-at3.5: TT=e5m2 G=floate5m2_t USE=B R=4 C=6 H=20 W=24 OR=3 OC=5 CLAMP=Constant CB=56 CV=0.5
//     EX=r+(OR)>=0&&r+(OR)<H&&c+(OC)>=0&&c+(OC)<W?$0.0[(r+(OR))*W+c+(OC)]:CV
// case constant-i8-accumulator-16x16-at8.16: TT=i8 G=int8_t USE=Accumulator R=16 C=16 H=40 W=32 OR=8 OC=16 CLAMP=Constant CB=17 CV=17
//     EX=r+(OR)>=0&&r+(OR)<H&&c+(OC)>=0&&c+(OC)<W?$0.0[(r+(OR))*W+c+(OC)]:CV
// case constant-u8-a-1x1-at4.6: TT=u8 G=uint8_t USE=A R=1 C=1 H=5 W=7 OR=4 OC=6 CLAMP=Constant CB=17 CV=17
//     EX=r+(OR)>=0&&r+(OR)<H&&c+(OC)>=0&&c+(OC)<W?$0.0[(r+(OR))*W+c+(OC)]:CV
// case constant-i16-b-3x5-at6.6: TT=i16 G=int16_t USE=B R=3 C=5 H=9 W=11 OR=6 OC=6 CLAMP=Constant CB=17 CV=17
//     EX=r+(OR)>=0&&r+(OR)<H&&c+(OC)>=0&&c+(OC)<W?$0.0[(r+(OR))*W+c+(OC)]:CV
// case constant-u16-accumulator-16x16-at-3.-5: TT=u16 G=uint16_t USE=Accumulator R=16 C=16 H=20 W=20 OR=-3 OC=-5 CLAMP=Constant CB=17 CV=17
//     EX=r+(OR)>=0&&r+(OR)<H&&c+(OC)>=0&&c+(OC)<W?$0.0[(r+(OR))*W+c+(OC)]:CV
// case constant-i32-a-8x8-at6.7: TT=i32 G=int32_t USE=A R=8 C=8 H=10 W=12 OR=6 OC=7 CLAMP=Constant CB=17 CV=17
//     EX=r+(OR)>=0&&r+(OR)<H&&c+(OC)>=0&&c+(OC)<W?$0.0[(r+(OR))*W+c+(OC)]:CV
// case constant-u32-b-5x7-at-9.-8: TT=u32 G=uint32_t USE=B R=5 C=7 H=4 W=3 OR=-9 OC=-8 CLAMP=Constant CB=17 CV=17
//     EX=r+(OR)>=0&&r+(OR)<H&&c+(OC)>=0&&c+(OC)<W?$0.0[(r+(OR))*W+c+(OC)]:CV
// case constant-f16-accumulator-3x33-at4.-1: TT=f16 G=float16_t USE=Accumulator R=3 C=33 H=6 W=35 OR=4 OC=-1 CLAMP=Constant CB=14336 CV=0.5
//     EX=r+(OR)>=0&&r+(OR)<H&&c+(OC)>=0&&c+(OC)<W?$0.0[(r+(OR))*W+c+(OC)]:CV
// case constant-f32-a-33x3-at-40.2: TT=f32 G=float USE=A R=33 C=3 H=7 W=9 OR=-40 OC=2 CLAMP=Constant CB=1056964608 CV=0.5
//     EX=r+(OR)>=0&&r+(OR)<H&&c+(OC)>=0&&c+(OC)<W?$0.0[(r+(OR))*W+c+(OC)]:CV
// case constant-bf16-b-1x1-at-1.1: TT=bf16 G=bfloat16_t USE=B R=1 C=1 H=2 W=2 OR=-1 OC=1 CLAMP=Constant CB=16128 CV=0.5
//     EX=r+(OR)>=0&&r+(OR)<H&&c+(OC)>=0&&c+(OC)<W?$0.0[(r+(OR))*W+c+(OC)]:CV
// case constant-e4m3-accumulator-6x6-at-4.-7: TT=e4m3 G=floate4m3_t USE=Accumulator R=6 C=6 H=2 W=5 OR=-4 OC=-7 CLAMP=Constant CB=48 CV=0.5
//     EX=r+(OR)>=0&&r+(OR)<H&&c+(OC)>=0&&c+(OC)<W?$0.0[(r+(OR))*W+c+(OC)]:CV
// case clamptoedge-e5m2-a-4x6-at3.5: TT=e5m2 G=floate5m2_t USE=A R=4 C=6 H=20 W=24 OR=3 OC=5 CLAMP=ClampToEdge CB=56 CV=0.5
//     EX=$0.0[clamp(r+(OR),0,H-1)*W+clamp(c+(OC),0,W-1)]
// case clamptoedge-i8-b-16x16-at8.16: TT=i8 G=int8_t USE=B R=16 C=16 H=40 W=32 OR=8 OC=16 CLAMP=ClampToEdge CB=17 CV=17
//     EX=$0.0[clamp(r+(OR),0,H-1)*W+clamp(c+(OC),0,W-1)]
// case clamptoedge-u8-accumulator-1x1-at4.6: TT=u8 G=uint8_t USE=Accumulator R=1 C=1 H=5 W=7 OR=4 OC=6 CLAMP=ClampToEdge CB=17 CV=17
//     EX=$0.0[clamp(r+(OR),0,H-1)*W+clamp(c+(OC),0,W-1)]
// case clamptoedge-i16-a-3x5-at6.6: TT=i16 G=int16_t USE=A R=3 C=5 H=9 W=11 OR=6 OC=6 CLAMP=ClampToEdge CB=17 CV=17
//     EX=$0.0[clamp(r+(OR),0,H-1)*W+clamp(c+(OC),0,W-1)]
// case clamptoedge-u16-b-16x16-at-3.-5: TT=u16 G=uint16_t USE=B R=16 C=16 H=20 W=20 OR=-3 OC=-5 CLAMP=ClampToEdge CB=17 CV=17
//     EX=$0.0[clamp(r+(OR),0,H-1)*W+clamp(c+(OC),0,W-1)]
// case clamptoedge-i32-accumulator-8x8-at6.7: TT=i32 G=int32_t USE=Accumulator R=8 C=8 H=10 W=12 OR=6 OC=7 CLAMP=ClampToEdge CB=17 CV=17
//     EX=$0.0[clamp(r+(OR),0,H-1)*W+clamp(c+(OC),0,W-1)]
// case clamptoedge-u32-a-5x7-at-9.-8: TT=u32 G=uint32_t USE=A R=5 C=7 H=4 W=3 OR=-9 OC=-8 CLAMP=ClampToEdge CB=17 CV=17
//     EX=$0.0[clamp(r+(OR),0,H-1)*W+clamp(c+(OC),0,W-1)]
// case clamptoedge-f16-b-3x33-at4.-1: TT=f16 G=float16_t USE=B R=3 C=33 H=6 W=35 OR=4 OC=-1 CLAMP=ClampToEdge CB=14336 CV=0.5
//     EX=$0.0[clamp(r+(OR),0,H-1)*W+clamp(c+(OC),0,W-1)]
// case clamptoedge-f32-accumulator-33x3-at-40.2: TT=f32 G=float USE=Accumulator R=33 C=3 H=7 W=9 OR=-40 OC=2 CLAMP=ClampToEdge CB=1056964608 CV=0.5
//     EX=$0.0[clamp(r+(OR),0,H-1)*W+clamp(c+(OC),0,W-1)]
// case clamptoedge-bf16-a-1x1-at-1.1: TT=bf16 G=bfloat16_t USE=A R=1 C=1 H=2 W=2 OR=-1 OC=1 CLAMP=ClampToEdge CB=16128 CV=0.5
//     EX=$0.0[clamp(r+(OR),0,H-1)*W+clamp(c+(OC),0,W-1)]
// case clamptoedge-e4m3-b-6x6-at-4.-7: TT=e4m3 G=floate4m3_t USE=B R=6 C=6 H=2 W=5 OR=-4 OC=-7 CLAMP=ClampToEdge CB=48 CV=0.5
//     EX=$0.0[clamp(r+(OR),0,H-1)*W+clamp(c+(OC),0,W-1)]
// case repeat-e5m2-accumulator-4x6-at3.5: TT=e5m2 G=floate5m2_t USE=Accumulator R=4 C=6 H=20 W=24 OR=3 OC=5 CLAMP=Repeat CB=56 CV=0.5
//     EX=$0.0[((r+(OR))%H)*W+(c+(OC))%W]
// case repeat-i8-a-16x16-at8.16: TT=i8 G=int8_t USE=A R=16 C=16 H=40 W=32 OR=8 OC=16 CLAMP=Repeat CB=17 CV=17
//     EX=$0.0[((r+(OR))%H)*W+(c+(OC))%W]
// case repeat-u8-b-1x1-at4.6: TT=u8 G=uint8_t USE=B R=1 C=1 H=5 W=7 OR=4 OC=6 CLAMP=Repeat CB=17 CV=17
//     EX=$0.0[((r+(OR))%H)*W+(c+(OC))%W]
// case repeat-i16-accumulator-3x5-at6.6: TT=i16 G=int16_t USE=Accumulator R=3 C=5 H=9 W=11 OR=6 OC=6 CLAMP=Repeat CB=17 CV=17
//     EX=$0.0[((r+(OR))%H)*W+(c+(OC))%W]
// case repeat-u16-a-16x16-at-3.-5: TT=u16 G=uint16_t USE=A R=16 C=16 H=20 W=20 OR=-3 OC=-5 CLAMP=Repeat CB=17 CV=17
//     EX=$0.0[((r+(OR))%H)*W+(c+(OC))%W]
// case repeat-i32-b-8x8-at6.7: TT=i32 G=int32_t USE=B R=8 C=8 H=10 W=12 OR=6 OC=7 CLAMP=Repeat CB=17 CV=17
//     EX=$0.0[((r+(OR))%H)*W+(c+(OC))%W]
// case repeat-u32-accumulator-5x7-at-9.-8: TT=u32 G=uint32_t USE=Accumulator R=5 C=7 H=4 W=3 OR=-9 OC=-8 CLAMP=Repeat CB=17 CV=17
//     EX=$0.0[((r+(OR))%H)*W+(c+(OC))%W]
// case repeat-f16-a-3x33-at4.-1: TT=f16 G=float16_t USE=A R=3 C=33 H=6 W=35 OR=4 OC=-1 CLAMP=Repeat CB=14336 CV=0.5
//     EX=$0.0[((r+(OR))%H)*W+(c+(OC))%W]
// case repeat-f32-b-33x3-at-40.2: TT=f32 G=float USE=B R=33 C=3 H=7 W=9 OR=-40 OC=2 CLAMP=Repeat CB=1056964608 CV=0.5
//     EX=$0.0[((r+(OR))%H)*W+(c+(OC))%W]
// case repeat-bf16-accumulator-1x1-at-1.1: TT=bf16 G=bfloat16_t USE=Accumulator R=1 C=1 H=2 W=2 OR=-1 OC=1 CLAMP=Repeat CB=16128 CV=0.5
//     EX=$0.0[((r+(OR))%H)*W+(c+(OC))%W]
// case repeat-e4m3-a-6x6-at-4.-7: TT=e4m3 G=floate4m3_t USE=A R=6 C=6 H=2 W=5 OR=-4 OC=-7 CLAMP=Repeat CB=48 CV=0.5
//     EX=$0.0[((r+(OR))%H)*W+(c+(OC))%W]
// case mirrorrepeat-e5m2-b-4x6-at3.5: TT=e5m2 G=floate5m2_t USE=B R=4 C=6 H=20 W=24 OR=3 OC=5 CLAMP=MirrorRepeat CB=56 CV=0.5
//     EX=$0.0[((r+(OR))%(2*H-2)>=H?2*H-2-(r+(OR))%(2*H-2):(r+(OR))%(2*H-2))*W+((c+(OC))%(2*W-2)>=W?2*W-2-(c+(OC))%(2*W-2):(c+(OC))%(2*W-2))]
// case mirrorrepeat-i8-accumulator-16x16-at8.16: TT=i8 G=int8_t USE=Accumulator R=16 C=16 H=40 W=32 OR=8 OC=16 CLAMP=MirrorRepeat CB=17 CV=17
//     EX=$0.0[((r+(OR))%(2*H-2)>=H?2*H-2-(r+(OR))%(2*H-2):(r+(OR))%(2*H-2))*W+((c+(OC))%(2*W-2)>=W?2*W-2-(c+(OC))%(2*W-2):(c+(OC))%(2*W-2))]
// case mirrorrepeat-u8-a-1x1-at4.6: TT=u8 G=uint8_t USE=A R=1 C=1 H=5 W=7 OR=4 OC=6 CLAMP=MirrorRepeat CB=17 CV=17
//     EX=$0.0[((r+(OR))%(2*H-2)>=H?2*H-2-(r+(OR))%(2*H-2):(r+(OR))%(2*H-2))*W+((c+(OC))%(2*W-2)>=W?2*W-2-(c+(OC))%(2*W-2):(c+(OC))%(2*W-2))]
// case mirrorrepeat-i16-b-3x5-at6.6: TT=i16 G=int16_t USE=B R=3 C=5 H=9 W=11 OR=6 OC=6 CLAMP=MirrorRepeat CB=17 CV=17
//     EX=$0.0[((r+(OR))%(2*H-2)>=H?2*H-2-(r+(OR))%(2*H-2):(r+(OR))%(2*H-2))*W+((c+(OC))%(2*W-2)>=W?2*W-2-(c+(OC))%(2*W-2):(c+(OC))%(2*W-2))]
// case mirrorrepeat-u16-accumulator-16x16-at-3.-5: TT=u16 G=uint16_t USE=Accumulator R=16 C=16 H=20 W=20 OR=-3 OC=-5 CLAMP=MirrorRepeat CB=17 CV=17
//     EX=$0.0[((r+(OR))%(2*H-2)>=H?2*H-2-(r+(OR))%(2*H-2):(r+(OR))%(2*H-2))*W+((c+(OC))%(2*W-2)>=W?2*W-2-(c+(OC))%(2*W-2):(c+(OC))%(2*W-2))]
// case mirrorrepeat-i32-a-8x8-at6.7: TT=i32 G=int32_t USE=A R=8 C=8 H=10 W=12 OR=6 OC=7 CLAMP=MirrorRepeat CB=17 CV=17
//     EX=$0.0[((r+(OR))%(2*H-2)>=H?2*H-2-(r+(OR))%(2*H-2):(r+(OR))%(2*H-2))*W+((c+(OC))%(2*W-2)>=W?2*W-2-(c+(OC))%(2*W-2):(c+(OC))%(2*W-2))]
// case mirrorrepeat-u32-b-5x7-at-9.-8: TT=u32 G=uint32_t USE=B R=5 C=7 H=4 W=3 OR=-9 OC=-8 CLAMP=MirrorRepeat CB=17 CV=17
//     EX=$0.0[((r+(OR))%(2*H-2)>=H?2*H-2-(r+(OR))%(2*H-2):(r+(OR))%(2*H-2))*W+((c+(OC))%(2*W-2)>=W?2*W-2-(c+(OC))%(2*W-2):(c+(OC))%(2*W-2))]
// case mirrorrepeat-f16-accumulator-3x33-at4.-1: TT=f16 G=float16_t USE=Accumulator R=3 C=33 H=6 W=35 OR=4 OC=-1 CLAMP=MirrorRepeat CB=14336 CV=0.5
//     EX=$0.0[((r+(OR))%(2*H-2)>=H?2*H-2-(r+(OR))%(2*H-2):(r+(OR))%(2*H-2))*W+((c+(OC))%(2*W-2)>=W?2*W-2-(c+(OC))%(2*W-2):(c+(OC))%(2*W-2))]
// case mirrorrepeat-f32-a-33x3-at-40.2: TT=f32 G=float USE=A R=33 C=3 H=7 W=9 OR=-40 OC=2 CLAMP=MirrorRepeat CB=1056964608 CV=0.5
//     EX=$0.0[((r+(OR))%(2*H-2)>=H?2*H-2-(r+(OR))%(2*H-2):(r+(OR))%(2*H-2))*W+((c+(OC))%(2*W-2)>=W?2*W-2-(c+(OC))%(2*W-2):(c+(OC))%(2*W-2))]
// case mirrorrepeat-bf16-b-1x1-at-1.1: TT=bf16 G=bfloat16_t USE=B R=1 C=1 H=2 W=2 OR=-1 OC=1 CLAMP=MirrorRepeat CB=16128 CV=0.5
//     EX=$0.0[((r+(OR))%(2*H-2)>=H?2*H-2-(r+(OR))%(2*H-2):(r+(OR))%(2*H-2))*W+((c+(OC))%(2*W-2)>=W?2*W-2-(c+(OC))%(2*W-2):(c+(OC))%(2*W-2))]
// case mirrorrepeat-e4m3-accumulator-6x6-at-4.-7: TT=e4m3 G=floate4m3_t USE=Accumulator R=6 C=6 H=2 W=5 OR=-4 OC=-7 CLAMP=MirrorRepeat CB=48 CV=0.5
//     EX=$0.0[((r+(OR))%(2*H-2)>=H?2*H-2-(r+(OR))%(2*H-2):(r+(OR))%(2*H-2))*W+((c+(OC))%(2*W-2)>=W?2*W-2-(c+(OC))%(2*W-2):(c+(OC))%(2*W-2))]
// case repeat-of-one: TT=f32 G=float USE=Accumulator R=4 C=4 H=1 W=1 OR=-2 OC=-1 CLAMP=Repeat
//     EX=$0.0[0]
// case mirrorrepeat-of-one: TT=f32 G=float USE=Accumulator R=4 C=4 H=1 W=1 OR=-2 OC=-1 CLAMP=MirrorRepeat
//     EX=$0.0[0]
// case clamptoedge-of-one: TT=f32 G=float USE=Accumulator R=4 C=4 H=1 W=1 OR=-2 OC=-1 CLAMP=ClampToEdge
//     EX=$0.0[0]
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
layout(set = 0, binding = 1) readonly buffer I1 { uint height; uint width; int row; int col; uint bits; };
layout(set = 0, binding = 2) buffer O2 { T constants[]; };
layout(set = 0, binding = 3) buffer O3 { T variables[]; };
#define MODE_NV(m) GLUE2(gl_CooperativeMatrixClampMode, m, NV)
#define GLUE2(x, y, z) x##y##z

void main()
{
    coopmat<T, gl_ScopeSubgroup, ROWS, COLS, MATRIX_USE(USE_)> m = coopmat<T, gl_ScopeSubgroup, ROWS, COLS, MATRIX_USE(USE_)>(T(1));
    tensorLayoutNV<2, MODE_NV(MODE)> t = createTensorLayoutNV(2, MODE_NV(MODE));
    t = setTensorLayoutDimensionNV(t, HEIGHT, WIDTH);
    t = setTensorLayoutClampValueNV(t, bits);
    coopMatLoadTensorNV(m, a, 0, sliceTensorLayoutNV(t, ROW, ROWS, COL, COLS));
    coopMatStore(m, constants, 0, COLS, ROW_MAJOR);
    t = setTensorLayoutDimensionNV(t, height, width);
    t = sliceTensorLayoutNV(t, 1, 1, 2, 2);
    t = sliceTensorLayoutNV(t, row - 1, ROWS, col - 2, COLS);
    coopMatLoadTensorNV(m, a, 0, t);
    coopMatStore(m, variables, 0, COLS, ROW_MAJOR);
}
