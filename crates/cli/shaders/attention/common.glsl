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

// The number of a work-group among all of them. With CAUSAL the last queries see the most keys, so their tiles come first,
// those of all heads: what starts last should not take longest.
uint numberOfWorkGroup()
{
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}

// Which tile of queries a work-group takes.
uint tileOfQueries()
{
    return CAUSAL ? gl_NumWorkGroups.x - 1 - numberOfWorkGroup() / gl_NumWorkGroups.y : gl_WorkGroupID.x;
}

// Of which head.
uint headOfQueries()
{
    return CAUSAL ? numberOfWorkGroup() % gl_NumWorkGroups.y : gl_WorkGroupID.y;
}
