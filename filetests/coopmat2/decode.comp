// Functions that decode: blocks of 8 numbers in 5 bytes (a scale, and half a byte each), from a storage buffer and
// from a device address, with offsets, views, clips, and coordinates outside of the tensor.
//
// test run
// subgroup 4 32
// define T G
// define CLAMP_BITS BITS
// define USE_ USE
// in 0.0 u8 rand 1280 3 0 15 1
// in 0.1 addr [0.0]
// out 0.2 TT gen 8 x 16 = $0.0[10+((r+2)*4+div(c,8)+1)*5]*(and(shr($0.0[10+((r+2)*4+div(c,8)+1)*5+1+c%4],4*div(c%8,4)),15)-8)
// out 0.3 TT gen 8 x 16 = $0.0[((r+2)*4+div(c,8)+1)*5]*(and(shr($0.0[((r+2)*4+div(c,8)+1)*5+1+c%4],4*div(c%8,4)),15)-8)
// out 0.4 TT gen 8 x 16 = r<2||c>=5?3:r<5?c+100+16*r:7
//
// case f32-accumulator: TT=f32 G=float USE=Accumulator BITS=1088421888
// case f16-a: TT=f16 G=float16_t USE=A BITS=18176
// case bf16-b: TT=bf16 G=bfloat16_t USE=B BITS=16608
// case i16-b: TT=i16 G=int16_t USE=B BITS=7
// case i32-a: TT=i32 G=int32_t USE=A BITS=7
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Block { uint8_t scale; uint8_t q[4]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Bytes { uint8_t x[]; };
layout(buffer_reference, std430, buffer_reference_align = 1) buffer Byte { uint8_t x; };
layout(set = 0, binding = 0) readonly buffer I0 { uint8_t a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { Bytes address; };
layout(set = 0, binding = 2) buffer O2 { T bound[]; };
layout(set = 0, binding = 3) buffer O3 { T addressed[]; };
layout(set = 0, binding = 4) buffer O4 { T places[]; };
#define M coopmat<T, gl_ScopeSubgroup, 8, 16, MATRIX_USE(USE_)>
#define CONSTANT gl_CooperativeMatrixClampModeConstantNV

T decode(const in Block b, const in uint32_t block[2], const in uint32_t at[2])
{
    const uint32_t i = at[1];
    uint32_t q = uint32_t(b.q[i % 4]);
    if (i >= 4)
        q >>= 4;
    return T(float(int(b.scale) * (int(q & 15) - 8)));
}

// What it is told, not what is there.
T place(const in Byte b, const in uint32_t block[3], const in uint32_t at[3])
{
    return T(float(16 * (2 * block[1] + at[1]) + 8 * block[2] + at[2] + 100 * block[0]));
}

void main()
{
    M m = M(T(1));
    tensorLayoutNV<2> t = createTensorLayoutNV(2);
    t = setTensorLayoutBlockSizeNV(t, 1, 8);
    t = setTensorLayoutDimensionNV(t, 16, 32);
    t = sliceTensorLayoutNV(t, 2, 8, 8, 16);
    coopMatLoadTensorNV(m, a, 10, t, decode);
    coopMatStore(m, bound, 0, 16, ROW_MAJOR);
    coopMatLoadTensorNV(m, address.x, 0, t, decode);
    coopMatStore(m, addressed, 0, 16, ROW_MAJOR);

    tensorLayoutNV<3, CONSTANT> u = createTensorLayoutNV(3, CONSTANT);
    u = setTensorLayoutBlockSizeNV(u, 1, 2, 8);
    u = setTensorLayoutDimensionNV(u, 4, 5, 16);
    u = setTensorLayoutClampValueNV(u, CLAMP_BITS);
    u = sliceTensorLayoutNV(u, 1, 1, 2, 8, 0, 5);
    tensorViewNV<3> v = createTensorViewNV(3);
    v = setTensorViewClipNV(v, 2, 6, 0, 5);
    m = M(T(3));
    coopMatLoadTensorNV(m, a, 0, u, v, place);
    coopMatStore(m, places, 0, 16, ROW_MAJOR);
}
