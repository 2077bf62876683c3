// Offsets of 64 bits (GL_EXT_shader_64bit_indexing) of plain loads and stores and of those through tensor layouts:
// inside, behind the end, before the start, and by whole multiples of 2^32; and strides of a tensor by which an index
// of 32 bits would come back to the buffer.
//
// test run
// subgroup 4 32
// in 0.0 i64 [0 64 -16 0x100000000 -4294967296 0x0ffffffffffffff0]
// in 0.1 i32 gen 128 = i + 1
// out 0.2 i32 gen 384 = i < 64 ? i + 1 : i < 128 ? i + 1 : i < 144 ? 0 : i < 192 ? i - 143 : 0
// out 0.3 i32 gen 384 = i < 64 ? i + 1 : i < 128 ? i + 1 : i < 144 ? 0 : i < 192 ? i - 143 : 0
// inout 0.4 i32 fill 64 -1
// out 0.4 i32 gen 64 = i < 48 ? i + 17 : -1
// inout 0.5 i32 fill 64 -1
// out 0.5 i32 gen 64 = i < 48 ? i + 17 : -1
// out 0.6 i32 gen 64 = i < 8 ? i + 1 : 0
// inout 0.7 i32 fill 16 -1
// out 0.7 i32 gen 16 = i < 8 ? i + 1 : -1
#version 460
#include "matrices2.glsl"
#extension GL_EXT_shader_64bit_indexing : require
#pragma shader_64bit_indexing

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer Offsets { uint64_t at[6]; };
layout(set = 0, binding = 1) readonly buffer In { uint x[]; };
layout(set = 0, binding = 2) buffer Loaded { uint loaded[]; };
layout(set = 0, binding = 3) buffer Tensor { uint tensor[]; };
layout(set = 0, binding = 4) buffer Stored { uint stored[]; };
layout(set = 0, binding = 5) buffer StoredTensor { uint stored_tensor[]; };
layout(set = 0, binding = 6) buffer Far { uint far[]; };
layout(set = 0, binding = 7) buffer StoredFar { uint stored_far[]; };

void main()
{
    MATRIX(uint, 8, 8, Accumulator) m;
    tensorLayoutNV<2> t = createTensorLayoutNV(2);
    t = setTensorLayoutDimensionNV(t, 8, 8);
    for (uint i = 0; i < 6; i++) {
        coopMatLoad(m, x, at[i], 8, ROW_MAJOR);
        coopMatStore(m, loaded, i * 64, 8, ROW_MAJOR);
        m = MATRIX(uint, 8, 8, Accumulator)(9);
        coopMatLoadTensorNV(m, x, at[i], t);
        coopMatStore(m, tensor, i * 64, 8, ROW_MAJOR);
    }
    coopMatLoad(m, x, 0u, 8, ROW_MAJOR);
    coopMatStore(m, stored, at[2], 8, ROW_MAJOR);
    coopMatStore(m, stored, at[3], 8, ROW_MAJOR);
    coopMatStoreTensorNV(m, stored_tensor, at[2], t);
    coopMatStoreTensorNV(m, stored_tensor, at[3], t);

    // Rows are 2^31 elements apart.
    tensorLayoutNV<2> f = createTensorLayoutNV(2);
    f = setTensorLayoutDimensionNV(f, 8, 8);
    f = setTensorLayoutStrideNV(f, 0x80000000u, 1);
    coopMatLoadTensorNV(m, x, 0u, f);
    coopMatStore(m, far, 0u, 8, ROW_MAJOR);
    coopMatStoreTensorNV(m, stored_far, 0u, f);
}
