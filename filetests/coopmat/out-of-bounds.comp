// Elements outside of a buffer are zero when loaded and dropped when stored, each by itself: the matrix reaches over
// the end in its last rows, lies wholly outside, or begins behind the end; in both layouts.
//
// test run
// subgroup 4 32
// in 0.0 f16 ramp 100 1
// out 0.1 f16 gen 16 x 8 = r * 8 + c < 100 ? r * 8 + c + 1 : 0
// out 0.2 f16 gen 8 x 16 = c * 8 + r + 40 < 100 ? c * 8 + r + 41 : 0
// out 0.3 f16 fill 128 0
// inout 0.4 f16 fill 37 -5
// out 0.4 f16 gen 37 = i < 10 ? -5 : i - 9
// inout 0.5 f16 fill 21 -5
// out 0.5 f16 gen 21 = i % 8 * 8 + div(i, 8) + 1
#version 460
#include "matrices.glsl"

layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { float16_t a[]; };
layout(set = 0, binding = 1) buffer O1 { float16_t rows[]; };
layout(set = 0, binding = 2) buffer O2 { float16_t columns[]; };
layout(set = 0, binding = 3) buffer O3 { float16_t outside[]; };
layout(set = 0, binding = 4) buffer O4 { float16_t part[]; };
layout(set = 0, binding = 5) buffer O5 { float16_t transposed[]; };

void main()
{
    MATRIX(float16_t, 16, 8, A) m;
    coopMatLoad(m, a, 0, 8, ROW_MAJOR);
    coopMatStore(m, rows, 0, 8, ROW_MAJOR);
    MATRIX(float16_t, 8, 16, B) n;
    coopMatLoad(n, a, 40, 8, COL_MAJOR);
    coopMatStore(n, columns, 0, 16, ROW_MAJOR);
    coopMatLoad(m, a, 1000000, 8, ROW_MAJOR);
    coopMatStore(m, outside, 0, 8, ROW_MAJOR);
    coopMatLoad(m, a, 0, 8, ROW_MAJOR);
    coopMatStore(m, part, 10, 8, ROW_MAJOR);
    coopMatStore(m, part, 0x10000000, 8, ROW_MAJOR);
    MATRIX(float16_t, 8, 8, Accumulator) k;
    coopMatLoad(k, a, 0, 8, ROW_MAJOR);
    coopMatStore(k, transposed, 0, 8, COL_MAJOR);
}
