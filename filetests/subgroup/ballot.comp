// Ballots: the masks of lanes, bits of them, counts and their scans, the lowest and the highest. The invocations i with
// i mod 3 == 0 vote yes.
//
// test run
// out 0.0 u32 gen 128 = (i % 3 == 0 ? 1 : 0) + 2 * (i % 3 == 1 ? 1 : 0)
// out 0.1 u32 gen 128 = sum(k, W, (div(i, W) * W + k) % 3 == 0 ? 1 : 0)
// out 0.2 u32 gen 128 = sum(k, i % W + 1, (div(i, W) * W + k) % 3 == 0 ? 1 : 0)
// out 0.3 u32 gen 128 = sum(k, i % W, (div(i, W) * W + k) % 3 == 0 ? 1 : 0)
// out 0.4 u32 gen 128 = (3 - div(i, W) * W % 3) % 3
// out 0.5 u32 gen 128 = W - 1 - (div(i, W) * W + W - 1) % 3
// out 0.6 u32 gen 128 = 1 + i % W + 1000 * (W - i % W) + 100000 * (W - i % W - 1)
// case w4: W=4
// subgroup 4
// case w8: W=8
// subgroup 8
// case w16: W=16
// subgroup 16
// case w32: W=32
// subgroup 32
// case w64: W=64
// subgroup 64
// case w128: W=128
// subgroup 128
#version 450
#include "subgroup.glsl"
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) buffer O0 { uint bits[]; };
layout(set = 0, binding = 1) buffer O1 { uint count[]; };
layout(set = 0, binding = 2) buffer O2 { uint inclusive[]; };
layout(set = 0, binding = 3) buffer O3 { uint exclusive[]; };
layout(set = 0, binding = 4) buffer O4 { uint lowest[]; };
layout(set = 0, binding = 5) buffer O5 { uint highest[]; };
layout(set = 0, binding = 6) buffer O6 { uint masks[]; };

uint ones(uvec4 mask) { ivec4 c = bitCount(mask); return uint(c.x + c.y + c.z + c.w); }

void main()
{
    uint i = gl_LocalInvocationIndex;
    uvec4 ballot = subgroupBallot(i % 3 == 0);
    uvec4 other = subgroupBallot(i % 3 == 1);
    bits[i] = uint(subgroupInverseBallot(ballot)) + 2 * uint(subgroupBallotBitExtract(other, gl_SubgroupInvocationID));
    count[i] = subgroupBallotBitCount(ballot);
    inclusive[i] = subgroupBallotInclusiveBitCount(ballot);
    exclusive[i] = subgroupBallotExclusiveBitCount(ballot);
    lowest[i] = subgroupBallotFindLSB(ballot);
    highest[i] = subgroupBallotFindMSB(ballot);
    uvec4 below = gl_SubgroupLtMask, le = gl_SubgroupLeMask;
    masks[i] = ones(gl_SubgroupEqMask) + ones(below) + 1000 * ones(gl_SubgroupGeMask & subgroupBallot(true))
        + 100000 * ones(gl_SubgroupGtMask & subgroupBallot(true)) + (ones(le) - ones(below) - 1);
}
