// What both forms of attention share: O = softmax(Q*K^T * scale) * V for each head, without the matrix of scores in memory.
//
// Q, K, V and O hold, for each head, `rows` rows of HEAD elements, of which the first `tokens` count. With CAUSAL a
// token attends to itself and to those before it.
//
// The softmax is computed as the keys come along. For each query there are the largest score so far, m, and the sum of
// exp(score - m), l. When larger scores come, what was summed up to then shrinks by exp(old m - new m). At the end O is
// divided by l.

layout(constant_id = 1) const uint HEAD = 64;
layout(constant_id = 2) const bool CAUSAL = false;

layout(push_constant) uniform Sizes {
    uint tokens;
    uint rows;
    // The scale of the scores, times log2(e): exponentials are powers of two.
    float scale;
};

layout(set = 0, binding = 0) readonly buffer InputQ { float16_t q[]; };
layout(set = 0, binding = 1) readonly buffer InputK { float16_t k[]; };
layout(set = 0, binding = 2) readonly buffer InputV { float16_t v[]; };
layout(set = 0, binding = 3) writeonly buffer OutputO { float o[]; };

// Smaller than every score, and yet a number: the difference of two is no NaN.
const float LOWEST = -1e30;

// Whether a query must not see a key.
bool isHidden(uint query, uint key)
{
    return key >= tokens || (CAUSAL && key > query);
}

// How many keys the queries before `end` see.
uint visibleKeys(uint end)
{
    return CAUSAL ? min(end, tokens) : tokens;
}

// How many heads are worked on at a time with CAUSAL: so their keys and values stay in a cache.
const uint HEADS_AT_ONCE = 8;

// The number of a work-group among those of some heads, the first of them, and how many there are. With CAUSAL the last queries
// see the most keys, so their tiles come first, those of all these heads: what starts last should not take longest.
void placeOfWorkGroup(out uint number, out uint first, out uint heads)
{
    const uint all = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    first = all / (HEADS_AT_ONCE * gl_NumWorkGroups.x) * HEADS_AT_ONCE;
    number = all - first * gl_NumWorkGroups.x;
    heads = min(gl_NumWorkGroups.y - first, HEADS_AT_ONCE);
}

// Which tile of queries a work-group takes.
uint tileOfQueries()
{
    uint number, first, heads;
    placeOfWorkGroup(number, first, heads);
    return CAUSAL ? gl_NumWorkGroups.x - 1 - number / heads : gl_WorkGroupID.x;
}

// Of which head.
uint headOfQueries()
{
    uint number, first, heads;
    placeOfWorkGroup(number, first, heads);
    return CAUSAL ? first + number % heads : gl_WorkGroupID.y;
}
