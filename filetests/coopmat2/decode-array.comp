// Decode functions whose pointer leads to nothing but an array without a length: an index of the tensor counts an element
// of it, and a function may as well look elsewhere.
//
// test run
// subgroup 32
// in 0.0 f16 ramp 512 0 1
// out 0.1 f32 gen 16 x 16 = 32 * r + c
// out 0.2 f32 gen 16 x 16 = 32 * (15 - r) + c
#version 460
#include "matrices2.glsl"

layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Array { float16_t x[]; };
layout(set = 0, binding = 0) readonly buffer I0 { float16_t memory[512]; };
layout(set = 0, binding = 1) buffer O1 { float direct[]; };
layout(set = 0, binding = 2) buffer O2 { float turned[]; };

float16_t here(const in Array a, const in uint32_t block[2], const in uint32_t at[2])
{
    return a.x[0];
}

float16_t elsewhere(const in Array a, const in uint32_t block[2], const in uint32_t at[2])
{
    return memory[32 * (15 - block[0]) + block[1]];
}

void main()
{
    tensorLayoutNV<2> rows = createTensorLayoutNV(2);
    rows = setTensorLayoutDimensionNV(rows, 16, 16);
    rows = setTensorLayoutStrideNV(rows, 32, 1);
    MATRIX(float16_t, 16, 16, A) a = MATRIX(float16_t, 16, 16, A)(0.0);
    coopMatLoadTensorNV(a, memory, 0, sliceTensorLayoutNV(rows, 0, 16, 0, 16), here);
    coopMatStore(MATRIX(float, 16, 16, A)(a), direct, 0, 16, ROW_MAJOR);
    coopMatLoadTensorNV(a, memory, 0, sliceTensorLayoutNV(rows, 0, 16, 0, 16), elsewhere);
    coopMatStore(MATRIX(float, 16, 16, A)(a), turned, 0, 16, ROW_MAJOR);
}
