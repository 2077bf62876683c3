// Sums that are loaded one after the other, and stored so, of which only the last reaches over the end of its buffer; and
// several of which one lies wholly outside, while a matrix is changed between two stores.
//
// test run
// subgroup 4 32
// in 0.0 f32 ramp 600 1
// out 0.1 f32 gen 768 = i < 600 ? i + 1 : 0
// inout 0.2 f32 fill 600 -5
// out 0.2 f32 gen 600 = i < 40 ? -5 : i - 39
// in 0.3 f16 ramp 600 1
// out 0.4 f16 gen 768 = i < 256 ? i + 1 : (i < 512 ? 0 : (i < 600 ? 2 * (i + 1) : 0))
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { float a[]; };
layout(set = 0, binding = 1) buffer O1 { float all[]; };
layout(set = 0, binding = 2) buffer O2 { float part[]; };
layout(set = 0, binding = 3) readonly buffer Halves { float16_t h[]; };
layout(set = 0, binding = 4) buffer O4 { float16_t changed[]; };

void main()
{
    MATRIX(float, 16, 16, Accumulator) m[3];
    for (uint i = 0; i < 3; ++i)
        coopMatLoad(m[i], a, 256 * i, 16, ROW_MAJOR);
    for (uint i = 0; i < 3; ++i)
        coopMatStore(m[i], all, 256 * i, 16, ROW_MAJOR);
    for (uint i = 0; i < 3; ++i)
        coopMatStore(m[i], part, 256 * i + 40, 16, ROW_MAJOR);
    MATRIX(float16_t, 16, 16, Accumulator) x, y, z;
    coopMatLoad(x, h, 0, 16, ROW_MAJOR);
    coopMatLoad(y, h, 1000000, 16, ROW_MAJOR);
    coopMatLoad(z, h, 512, 16, ROW_MAJOR);
    coopMatStore(x, changed, 0, 16, ROW_MAJOR);
    coopMatStore(y, changed, 256, 16, ROW_MAJOR);
    z = z + z;
    coopMatStore(z, changed, 512, 16, ROW_MAJOR);
}
