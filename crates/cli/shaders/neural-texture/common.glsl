// What a neural texture is: a finer and a coarser grid of features, whose elements stand for 4 x 4 and 8 x 8 texels. Those of
// a texel are interpolated between the four elements around it; beyond the edges the last elements go on.
//
// FINE_NUMBER(i) and COARSE_NUMBER(i), which the including file defines, read the grids.

// What an element of the finer and of the coarser grid holds; the rest are the texel's place within a cell of the finer one.
const uint FINE = 8;
const uint COARSE = 6;
const uint FINE_STEP = 4;
const uint COARSE_STEP = 8;
// The length of all vectors: the features, the hidden units, and the outputs, of which the first are the channels.
const uint WIDTH = 16;

// Where a texel lies in a grid: the element before it, and how far it is from there to the next.
struct Place {
    ivec2 element;
    vec2 fraction;
};

Place placeOf(uvec2 texel, uint step)
{
    // The centres of texels and of elements are half a step from their edges.
    const vec2 at = (vec2(texel) + 0.5) / float(step) - 0.5;
    return Place(ivec2(floor(at)), fract(at));
}

// One of the four elements around, counted row by row, and its weight.
uint elementOf(Place place, uint corner, uvec2 gridSize)
{
    const ivec2 next = place.element + ivec2(corner & 1, corner >> 1);
    const uvec2 element = uvec2(clamp(next, ivec2(0), ivec2(gridSize) - 1));
    return gridSize.x * element.y + element.x;
}

float weightOf(Place place, uint corner)
{
    const vec2 weights = mix(1.0 - place.fraction, place.fraction, bvec2(corner & 1, corner >> 1));
    return weights.x * weights.y;
}

uvec2 gridOf(uvec2 size, uint step)
{
    return (size + step - 1) / step;
}

// The features of a texel of a texture of this size.
void featuresOf(uvec2 texel, uvec2 size, out float features[WIDTH])
{
    const Place inFine = placeOf(texel, FINE_STEP);
    const Place inCoarse = placeOf(texel, COARSE_STEP);
    for (uint i = 0; i < WIDTH; ++i)
        features[i] = 0.0;
    for (uint corner = 0; corner < 4; ++corner) {
        const float weight = weightOf(inFine, corner);
        const uint element = elementOf(inFine, corner, gridOf(size, FINE_STEP));
        for (uint i = 0; i < FINE; ++i)
            features[i] += weight * float(FINE_NUMBER(FINE * element + i));
    }
    for (uint corner = 0; corner < 4; ++corner) {
        const float weight = weightOf(inCoarse, corner);
        const uint element = elementOf(inCoarse, corner, gridOf(size, COARSE_STEP));
        for (uint i = 0; i < COARSE; ++i)
            features[FINE + i] += weight * float(COARSE_NUMBER(COARSE * element + i));
    }
    features[FINE + COARSE] = inFine.fraction.x;
    features[FINE + COARSE + 1] = inFine.fraction.y;
}
