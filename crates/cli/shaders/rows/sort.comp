// Rows sorted by bitonic merges: a work-group sorts LENGTH numbers, a power of two, of which those behind the row are
// larger than all others. An invocation holds eight numbers at a time: it orders pairs that lie so far apart that it has
// both, three distances each time that it reads them from shared memory; what lies nearer is ordered by shuffles.
//
// Numbers are ordered as integers: with all bits but the sign turned over where that is set, their order is that of the
// numbers, and a NaN has a place in it.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

const uint LANES = 32;
const uint EACH = 8;
const uint BLOCK = EACH * LANES;
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint INVOCATIONS = 256;
layout(constant_id = 1) const uint LENGTH = 8192;
layout(constant_id = 2) const uint ROW = 8192;
layout(set = 0, binding = 0) readonly buffer Input { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Output { float y[]; };

shared int row[LENGTH];

// The integer of a number's bits, and back.
int turned(int bits)
{
    return bits ^ (bits >> 31 & 0x7fffffff);
}

// Orders the numbers that an invocation holds, of pairs that are so many of them apart.
void order(inout int v[EACH], uint apart)
{
    [[unroll]] for (uint j = 0; j < EACH; ++j) {
        if ((j & apart) == 0) {
            const int a = v[j], b = v[j + apart];
            v[j] = min(a, b);
            v[j + apart] = max(a, b);
        }
    }
}

// Orders the numbers that an invocation holds and those of the lane so far away.
void exchange(inout int v[EACH], uint apart, bool keeps_smaller)
{
    [[unroll]] for (uint j = 0; j < EACH; ++j) {
        const int other = subgroupShuffleXor(v[j], apart);
        const int low = min(v[j], other), high = max(v[j], other);
        v[j] = keeps_smaller ? low : high;
    }
}

void main()
{
    const uint lane = gl_SubgroupInvocationID;
    const uint from = gl_WorkGroupID.x * ROW;

    for (uint i = gl_LocalInvocationID.x; i < LENGTH; i += INVOCATIONS)
        row[i] = i < ROW ? turned(floatBitsToInt(x[from + i])) : 0x7fffffff;
    barrier();

    for (uint size = BLOCK; size <= LENGTH; size *= 2) {
        for (uint apart = size / 2; apart >= BLOCK; apart /= EACH) {
            const uint near = apart / (EACH / 2);
            for (uint column = LANES * gl_SubgroupID; column < LENGTH / EACH; column += INVOCATIONS) {
                const uint start = EACH * column - (EACH - 1) * (column % near);
                const int falls = (start & size) == 0 ? 0 : -1;
                int v[EACH];
                [[unroll]] for (uint j = 0; j < EACH; ++j)
                    v[j] = row[start + j * near + lane] ^ falls;
                order(v, 4);
                order(v, 2);
                order(v, 1);
                [[unroll]] for (uint j = 0; j < EACH; ++j)
                    row[start + j * near + lane] = v[j] ^ falls;
            }
            barrier();
        }
        // What an invocation reads here it has written itself, the first time.
        for (uint start = BLOCK * gl_SubgroupID; start < LENGTH; start += EACH * INVOCATIONS) {
            int v[EACH];
            [[unroll]] for (uint j = 0; j < EACH; ++j)
                v[j] = row[start + j * LANES + lane];
            for (uint run = size == BLOCK ? 2 : size; run <= size; run *= 2) {
                const uint turns = max(run, LANES);
                [[unroll]] for (uint j = 0; j < EACH; ++j)
                    v[j] ^= ((start + j * LANES) & turns) == 0 ? 0 : -1;
                if (run >= 8 * LANES)
                    order(v, 4);
                if (run >= 4 * LANES)
                    order(v, 2);
                if (run >= 2 * LANES)
                    order(v, 1);
                const bool rises = (lane & run) == 0;
                if (run >= LANES)
                    exchange(v, LANES / 2, (lane & LANES / 2) == 0);
                if (run >= LANES / 2)
                    exchange(v, LANES / 4, ((lane & LANES / 4) == 0) == rises);
                if (run >= LANES / 4)
                    exchange(v, LANES / 8, ((lane & LANES / 8) == 0) == rises);
                if (run >= LANES / 8)
                    exchange(v, LANES / 16, ((lane & LANES / 16) == 0) == rises);
                exchange(v, LANES / 32, ((lane & LANES / 32) == 0) == rises);
                [[unroll]] for (uint j = 0; j < EACH; ++j)
                    v[j] ^= ((start + j * LANES) & turns) == 0 ? 0 : -1;
            }
            [[unroll]] for (uint j = 0; j < EACH; ++j)
                row[start + j * LANES + lane] = v[j];
        }
        barrier();
    }

    for (uint i = gl_LocalInvocationID.x; i < ROW; i += INVOCATIONS)
        y[from + i] = intBitsToFloat(turned(row[i]));
}
