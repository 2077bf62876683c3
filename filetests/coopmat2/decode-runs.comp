// Runs of elements that lie in blocks as a whole, and runs that do not: the offset within a block, the tensor's edges,
// and blocks shorter and longer than a subgroup. Rows by themselves, columns through a transposing view.
//
// test run
// subgroup 4 8 16 32
// spec 0=OY 1=OX
// keys OY=0 OX=0 BS=32 CM=1
// define BLOCK_SIZE BS
// define CLAMP CM
// in 0.0 u8 rand 1024 3 0 255 1
// out 0.1 f16 gen 8 x 32 = OY+r<16&&OX+c<64?$0.0[(OY+r)*64+div(OX+c,BS)*BS+(OX+c)%BS%div(BS,2)]+256*div((OX+c)%BS,div(BS,2)):0
// out 0.2 f16 gen 32 x 8 = OY+c<16&&OX+r<64?$0.0[(OY+c)*64+div(OX+r,BS)*BS+(OX+r)%BS%div(BS,2)]+256*div((OX+r)%BS,div(BS,2)):0
//
// case inside: OY=3 OX=32
// case undefined: OY=8 OX=0 CM=0
// case unaligned: OY=1 OX=5
// case below: OY=12 OX=32
// case right: OY=0 OX=48
// case beyond: OY=0 OX=64
// case short-blocks: BS=4 OY=1 OX=8
// case short-unaligned: BS=4 OY=1 OX=6
// case short-right: BS=4 OY=1 OX=36
// case long-blocks: BS=64 OY=2 OX=32
// case long-unaligned: BS=64 OY=2 OX=30 CM=0
// case pairs: BS=2 OY=5 OX=4
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const uint OFFSET_Y = 1;
layout(constant_id = 1) const uint OFFSET_X = 1;
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Block { uint8_t x[BLOCK_SIZE]; };
layout(set = 0, binding = 0) readonly buffer I0 { uint8_t a[]; };
layout(set = 0, binding = 1) buffer O1 { float16_t rows[]; };
layout(set = 0, binding = 2) buffer O2 { float16_t columns[]; };

float16_t decode(const in Block b, const in uint32_t block[2], const in uint32_t at[2])
{
    const uint32_t half_size = BLOCK_SIZE / 2;
    return float16_t(uint32_t(b.x[at[1] % half_size]) + 256 * (at[1] / half_size));
}

void main()
{
    tensorLayoutNV<2, CLAMP> t = createTensorLayoutNV(2, CLAMP);
    t = setTensorLayoutBlockSizeNV(t, 1, BLOCK_SIZE);
    t = setTensorLayoutDimensionNV(t, 16, 64);
    t = sliceTensorLayoutNV(t, OFFSET_Y, 8, OFFSET_X, 32);
    MATRIX(float16_t, 8, 32, A) m = MATRIX(float16_t, 8, 32, A)(0);
    coopMatLoadTensorNV(m, a, 0, t, decode);
    coopMatStore(m, rows, 0, 32, ROW_MAJOR);
    MATRIX(float16_t, 32, 8, B) n = MATRIX(float16_t, 32, 8, B)(0);
    coopMatLoadTensorNV(n, a, 0, t, createTensorViewNV(2, false, 1, 0), decode);
    coopMatStore(n, columns, 0, 8, ROW_MAJOR);
}
