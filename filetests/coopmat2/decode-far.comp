// Blocks that a function decodes, in rows that are 2^31 blocks apart: the index of row 2 has 64 bits. The tensor
// begins so far before the buffer that this row is in it.
//
// test run
// subgroup 4 32
// in 0.0 i32 gen 64 = i + 1
// in 0.1 addr [0.0]
// out 0.2 i32 gen 64 = 2 * i + 2
// out 0.3 i32 gen 64 = i < 32 ? 2 * i + 2 : 2 * i - 62
#version 460
#include "matrices2.glsl"
#extension GL_EXT_shader_64bit_indexing : require
#pragma shader_64bit_indexing

layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint x[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Word { uint x; };
layout(set = 0, binding = 0) readonly buffer I0 { uint a[]; };
layout(set = 0, binding = 1) readonly buffer I1 { uint64_t address; };
layout(set = 0, binding = 2) buffer O2 { uint far_row[]; };
layout(set = 0, binding = 3) buffer O3 { uint twice[]; };

uint decode(const in Word word, const in uint32_t block[2], const in uint32_t at[2])
{
    return 2 * word.x;
}

uint decode3(const in Word word, const in uint32_t block[3], const in uint32_t at[3])
{
    return 2 * word.x;
}

void main()
{
    Words far = Words(address - 0x400000000ul);
    MATRIX(uint, 2, 32, Accumulator) m = MATRIX(uint, 2, 32, Accumulator)(a[0]);
    tensorLayoutNV<2> t = createTensorLayoutNV(2);
    t = setTensorLayoutDimensionNV(t, 3, 64);
    t = setTensorLayoutStrideNV(t, 0x80000000u, 1);
    coopMatLoadTensorNV(m, far.x, 0u, sliceTensorLayoutNV(t, 2, 1, 0, 64), decode);
    coopMatStore(m, far_row, 0u, 32, ROW_MAJOR);

    // Both rows of the matrix from one row of the tensor.
    tensorLayoutNV<3> u = createTensorLayoutNV(3);
    u = setTensorLayoutDimensionNV(u, 3, 2, 32);
    u = setTensorLayoutStrideNV(u, 0x80000000u, 0, 1);
    coopMatLoadTensorNV(m, far.x, 0u, sliceTensorLayoutNV(u, 2, 1, 0, 2, 0, 32), decode3);
    coopMatStore(m, twice, 0u, 32, ROW_MAJOR);
}
