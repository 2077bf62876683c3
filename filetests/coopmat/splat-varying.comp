// A splatted scalar may differ between invocations: the components of each hold its own value. So it is with the
// product of a matrix and such a scalar.
//
// test run
// out 0.0 f32 gen 128 = i % W
// out 0.1 f32 gen 64 = i % W
// gpu f32 gen 64 = div(i, 2)
// out 0.2 i32 fill 64 6
// out 0.3 f16 gen 35 = i % W + 0.5
// out 0.4 f32 gen 64 = 2 * (i % W)
// gpu f32 gen 64 = 2 * div(i, 2)
// case w32: W=32
// subgroup 32
// case w16: W=16
// subgroup 16
// case w64: W=64
// subgroup 64
#version 460
#include "matrices.glsl"

layout(local_size_x = 128) in;
layout(set = 0, binding = 0) buffer O0 { float lanes[]; };
layout(set = 0, binding = 1) buffer O1 { float stored[]; };
layout(set = 0, binding = 2) buffer O2 { int uniform_[]; };
layout(set = 0, binding = 3) buffer O3 { float16_t b[]; };
layout(set = 0, binding = 4) buffer O4 { float scaled[]; };

void main()
{
    float lane = float(gl_SubgroupInvocationID);
    MATRIX(float, 8, 8, Accumulator) m = MATRIX(float, 8, 8, Accumulator)(lane);
    lanes[gl_LocalInvocationIndex] = m[0];
    coopMatStore(m, stored, 0, 8, ROW_MAJOR);
    MATRIX(int, 8, 8, A) n = MATRIX(int, 8, 8, A)(3);
    n = n * 2;
    coopMatStore(n, uniform_, 0, 8, ROW_MAJOR);
    MATRIX(float16_t, 5, 7, B) k = MATRIX(float16_t, 5, 7, B)(float16_t(lane) + 0.5hf);
    coopMatStore(k, b, 0, 7, ROW_MAJOR);
    MATRIX(float, 8, 8, Accumulator) two = MATRIX(float, 8, 8, Accumulator)(2.0);
    coopMatStore(two * lane, scaled, 0, 8, ROW_MAJOR);
}
