// What both forms of the convolution share: a product of matrices, without the first one in memory.
//
// Its rows are the pixels of the result, its columns the channels of the result, and what is summed up over are the
// filter's taps with the channels of the input. The first factor would repeat each pixel of the input for each tap that
// covers it (im2col); here a tile of it is gathered when it is needed.
//
// The input is H x W pixels of C channels, the last one fastest (NHWC); a row of weights, for one channel of the result,
// is FILTER_H x FILTER_W taps of C channels; the result is OUT_H x OUT_W pixels of OUT_C channels.
// Around the input there are zeros: PAD rows and columns on each side count.

layout(constant_id = 1) const uint FILTER_H = 3;
layout(constant_id = 2) const uint FILTER_W = 3;
layout(constant_id = 3) const int STRIDE = 1;
layout(constant_id = 4) const int DILATION = 1;
layout(constant_id = 5) const int PAD = 1;

layout(push_constant) uniform Sizes {
    int H;
    int W;
    uint C;
    uint OUT_H;
    uint OUT_W;
    uint OUT_C;
    // From one image to the next, in elements.
    uint imageStride;
};

layout(set = 0, binding = 0) readonly buffer Input { float16_t x[]; };
layout(set = 0, binding = 1) readonly buffer Weights { float16_t w[]; };
layout(set = 0, binding = 2) writeonly buffer Result { float y[]; };
