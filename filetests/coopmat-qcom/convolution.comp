// A convolution of 3 by 3 over channels that lie together, by implicit im2col with padding, stride and dilation: the
// seed's kernel in small. An invocation has a pixel of the result.
//
// test run
// subgroup 32
// spec 0=STRIDE 1=DILATION 2=W
// in 0.0 f32 rand 16*16*8 1 -2 2 0.5
// in 0.1 f32 rand 9*8*16 2 -2 2 0.5
// out 0.2 f32 gen 32 x 16 = sum(t, 9, sum(k, 8, (div(r, W) * STRIDE + DILATION * (div(t, 3) - 1) >= 0
//     && div(r, W) * STRIDE + DILATION * (div(t, 3) - 1) < 16
//     && r % W * STRIDE + DILATION * (t % 3 - 1) >= 0 && r % W * STRIDE + DILATION * (t % 3 - 1) < 16
//     ? $0.0[((div(r, W) * STRIDE + DILATION * (div(t, 3) - 1)) * 16 + r % W * STRIDE + DILATION * (t % 3 - 1)) * 8 + k]
//     : 0) * $0.1[(t * 8 + k) * 16 + c]))
//
// case plain: STRIDE=1 DILATION=1 W=16
// case stride: STRIDE=2 DILATION=1 W=8
// case dilation: STRIDE=1 DILATION=3 W=8
#version 460
#include "qcom.glsl"

layout(local_size_x = 32) in;
layout(constant_id = 0) const int STRIDE = 1;
layout(constant_id = 1) const int DILATION = 1;
layout(constant_id = 2) const uint WIDTH = 1;
layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) readonly buffer Weights { float w[]; };
layout(set = 0, binding = 2) buffer Out { float y[]; };

void main()
{
    const int out_row = int(gl_SubgroupInvocationID / WIDTH);
    const int out_col = int(gl_SubgroupInvocationID % WIDTH);
    MATRIX(float, 32, 16, Accumulator) sum = MATRIX(float, 32, 16, Accumulator)(0);
    for (int filter_row = 0; filter_row < 3; ++filter_row)
        for (int filter_col = 0; filter_col < 3; ++filter_col) {
            const int row = STRIDE * out_row + DILATION * (filter_row - 1);
            const int col = STRIDE * out_col + DILATION * (filter_col - 1);
            float pixel[8];
            if (row < 0 || row >= 16 || col < 0 || col >= 16) {
                for (int i = 0; i < 8; ++i)
                    pixel[i] = 0;
            } else {
                for (int i = 0; i < 8; ++i)
                    pixel[i] = x[(row * 16 + col) * 8 + i];
            }
            MATRIX(float, 32, 8, A) a;
            vectorToCoopmatQCOM(pixel, a);
            MATRIX(float, 8, 16, B) b;
            coopMatLoad(b, w, (filter_row * 3 + filter_col) * 8 * 16, 16, ROW_MAJOR);
            sum = coopMatMulAdd(a, b, sum);
        }
    coopMatStore(sum, y, 0, 16, ROW_MAJOR);
}
