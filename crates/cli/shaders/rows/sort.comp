// Rows sorted by bitonic merges: a work-group sorts LENGTH numbers, a power of two, of which those behind the row are
// larger than all others. Pairs that lie a subgroup or more apart are ordered in shared memory, nearer ones by shuffles.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

const uint LANES = 32;
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint INVOCATIONS = 256;
layout(constant_id = 1) const uint LENGTH = 8192;
layout(push_constant) uniform Sizes { uint length; };
layout(set = 0, binding = 0) readonly buffer Input { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Output { float y[]; };

shared float row[LENGTH];

// The number that lane `i % LANES` keeps of its own and that of the lane `apart` away, in runs of `size` that are merged.
float keep(float v, uint i, uint size, uint apart)
{
    const float other = subgroupShuffleXor(v, apart);
    const bool is_first = (i & apart) == 0, ascends = (i & size) == 0;
    return is_first == ascends ? min(v, other) : max(v, other);
}

void main()
{
    const uint lane = gl_SubgroupInvocationID;
    const uint first = LANES * gl_SubgroupID;
    const uint from = gl_WorkGroupID.x * length;

    for (uint start = first; start < LENGTH; start += INVOCATIONS) {
        const uint i = start + lane;
        float v = i < length ? x[from + i] : uintBitsToFloat(0x7f800000);
        [[unroll]] for (uint size = 2; size <= LANES; size *= 2)
            [[unroll]] for (uint apart = size / 2; apart > 0; apart /= 2)
                v = keep(v, i, size, apart);
        row[i] = v;
    }
    barrier();

    for (uint size = 2 * LANES; size <= LENGTH; size *= 2) {
        for (uint apart = size / 2; apart >= LANES; apart /= 2) {
            for (uint pair = first; pair < LENGTH / 2; pair += INVOCATIONS) {
                const uint start = 2 * pair - pair % apart;
                const bool ascends = (start & size) == 0;
                const float a = row[start + lane], b = row[start + apart + lane];
                row[start + lane] = ascends ? min(a, b) : max(a, b);
                row[start + apart + lane] = ascends ? max(a, b) : min(a, b);
            }
            barrier();
        }
        for (uint start = first; start < LENGTH; start += INVOCATIONS) {
            const uint i = start + lane;
            float v = row[i];
            [[unroll]] for (uint apart = LANES / 2; apart > 0; apart /= 2)
                v = keep(v, i, size, apart);
            row[i] = v;
        }
        barrier();
    }

    for (uint start = first; start < LENGTH; start += INVOCATIONS) {
        const uint i = start + lane;
        if (i < length)
            y[from + i] = row[i];
    }
}
