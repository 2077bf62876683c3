// A stride of 0 reads the first row or column again and again.
//
// test run
// subgroup 4 32
// in 0.0 f16 ramp 16 1
// out 0.1 f16 gen 8 x 16 = c + 1
// out 0.2 f16 gen 16 x 8 = r + 1
// out 0.3 f32 gen 16 = sum(k, 8, (k + 1) * (k + 1))
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { float16_t a[]; };
layout(set = 0, binding = 1) buffer O1 { float16_t rows[]; };
layout(set = 0, binding = 2) buffer O2 { float16_t columns[]; };
layout(set = 0, binding = 3) buffer O3 { float d[]; };

void main()
{
    MATRIX(float16_t, 8, 16, Accumulator) m;
    coopMatLoad(m, a, 0, 0, ROW_MAJOR);
    coopMatStore(m, rows, 0, 16, ROW_MAJOR);
    MATRIX(float16_t, 16, 8, B) n;
    coopMatLoad(n, a, 0, 0, COL_MAJOR);
    coopMatStore(n, columns, 0, 8, ROW_MAJOR);
    MATRIX(float16_t, 4, 8, A) x;
    MATRIX(float16_t, 8, 4, B) y;
    coopMatLoad(x, a, 0, 0, ROW_MAJOR);
    coopMatLoad(y, a, 0, 0, COL_MAJOR);
    coopMatStore(coopMatMulAdd(x, y, MATRIX(float, 4, 4, Accumulator)(0.0)), d, 0, 4, ROW_MAJOR);
}
