// Matrices that lie in memory in blocks of 4 rows of 16 bytes, which take turns with 4 bytes each: SPV_ARM_cooperative_
// matrix_layouts. The formulas count words of 4 bytes. What is stored where it was loaded from is what was there.
//
// test run
// subgroup 4 32 64
// spec 0=R 1=C
// define T GT
// define LAYOUT ORDER
// define GROUP G
// in 0.0 u32 rand R*W 1 0 2130706432 1
// out 0.1 u32 gen R x W = $0.0[div(BLOCK, G) * 16 * G + (r % 4 * 4 + c % 4) * G + BLOCK % G]
// out 0.2 u32 gen R*W = $0.0[i]
// keys BLOCK=(ORDER==4202?(div(r,4)*W/4+div(c,4)):(div(c,4)*R/4+div(r,4)))
//
// case one-block: GT=float ORDER=4202 G=1 R=4 C=4 W=4
// case one-block-of-bytes: GT=int8_t ORDER=4203 G=1 R=4 C=16 W=4
// case rows-1: GT=float ORDER=4202 G=1 R=8 C=12 W=12
// case rows-2: GT=float ORDER=4202 G=2 R=8 C=24 W=24
// case rows-4: GT=float ORDER=4202 G=4 R=4 C=16 W=16
// case rows-4-short: GT=int16_t ORDER=4202 G=4 R=12 C=64 W=32
// case rows-2-bytes: GT=uint8_t ORDER=4202 G=2 R=16 C=32 W=8
// case columns-1: GT=float ORDER=4203 G=1 R=8 C=12 W=12
// case columns-2: GT=float ORDER=4203 G=2 R=16 C=8 W=8
// case columns-4: GT=float ORDER=4203 G=4 R=16 C=4 W=4
// case columns-4-short: GT=int16_t ORDER=4203 G=4 R=32 C=24 W=12
// case columns-2-bytes: GT=uint8_t ORDER=4203 G=2 R=8 C=48 W=12
#version 460
#include "../coopmat/matrices.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint ROWS = 1;
layout(constant_id = 1) const uint COLS = 1;
layout(set = 0, binding = 0) readonly buffer In { T x[]; };
layout(set = 0, binding = 1) buffer OutA { T a[]; };
layout(set = 0, binding = 2) buffer OutB { T b[]; };

void main()
{
    MATRIX(T, ROWS, COLS, Accumulator) m;
    coopMatLoad(m, x, 0, GROUP, LAYOUT);
    coopMatStore(m, a, 0, COLS, ROW_MAJOR);
    coopMatStore(m, b, 0, GROUP, LAYOUT);
}
