// A network of fully connected layers that each invocation evaluates for its own pixel.
//
// LAYERS(L) lists the layers: L(number, number of the one before, results, inputs, byte offset of the matrix, byte offset
// of the biases, activation). INPUTS and RESULTS are the lengths at both ends, LAST is the last layer's result. There are
// SETS networks, SET_BYTES apart from FIRST_BYTE on, which pixels take in turn. HAS_BIASES says whether there are any.

#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require

#ifndef INVOCATIONS
#define INVOCATIONS 32
#endif
layout(local_size_x = INVOCATIONS) in;
layout(push_constant) uniform Push { uint width, pixels; };
#ifndef SUMS
#define SUMS 1
#endif
layout(set = 0, binding = SUMS) writeonly buffer Sums { float sums[]; };

#ifdef BYTES
#define T int8_t
#define SUM int
#else
#define T float16_t
#define SUM float16_t
#endif

// The inputs are 1/8 apart, in bytes 16: any number of waves over the image.
float input_at(uint x, uint y, uint i)
{
    int step = int((x * (i + 1) + y * (3 * i + 2)) >> 2 & 15) - 8;
#ifdef BYTES
    return float(step * 8);
#else
    return float(step) / 8.0;
#endif
}
