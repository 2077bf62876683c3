// A step of Adam (Kingma and Ba): each number moves against its slope, by the mean of the slopes before over the root of
// the mean of their squares. The slopes are forgotten then.
//
// Numbers lie in the order of the buffers; those of matrices may be in any layout that is an array of them, padding and all.
// A state is the numbers, then the means, then the squares. AFTER is the binding of the state that is made.
#version 460

layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
    uint count;
    // The first so many numbers are a network's, which learn at a rate of their own.
    uint networkCount;
    // Both over the part of the mean that the slopes before make up.
    float networkRate;
    float otherRate;
    // From sums of slopes to their mean.
    float scale;
    // The part of the squares that the slopes before make up.
    float squarePart;
};

layout(set = 0, binding = 1) buffer Gradient { float gradient[]; };
layout(set = 0, binding = 2) readonly buffer Before { float before[]; };
layout(set = 0, binding = AFTER) writeonly buffer After { float after[]; };

const float MEAN = 0.9;
const float SQUARE = 0.99;

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= count)
        return;
    const float slope = scale * gradient[i];
    gradient[i] = 0.0;
    const float mean = MEAN * before[count + i] + (1.0 - MEAN) * slope;
    const float square = SQUARE * before[2 * count + i] + (1.0 - SQUARE) * slope * slope;
    const float rate = i < networkCount ? networkRate : otherRate;
    after[i] = before[i] - rate * mean / (sqrt(square / squarePart) + 1e-8);
    after[count + i] = mean;
    after[2 * count + i] = square;
}
