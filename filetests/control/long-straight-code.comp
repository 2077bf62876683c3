// Code that runs on for long without a branch, which the CPU target cuts into pieces and generates with less effort:
// at places that are known, at places of each lane, and in a part that some lanes execute, in each round of a loop.
//
// test run
// subgroup 4 32
// in 0.0 u32 [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16]
// out 0.1 u32 [2176*16]
// out 0.2 u32 [2176*16]
// out 0.3 u32 [4352*5 0*11]
#version 450
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer In { uint x[16]; };
layout(set = 0, binding = 1) writeonly buffer Known { uint known[]; };
layout(set = 0, binding = 2) writeonly buffer Varying { uint varying_[]; };
layout(set = 0, binding = 3) buffer Some { uint some[]; };

#define X4(S) S S S S
#define X256(S) X4(X4(X4(X4(S))))

void main()
{
    uint lane = gl_LocalInvocationIndex, sum = 0, i = 0;
    X256(sum += x[i]; i = (i + 1u) & 15u;)
    known[lane] = sum;

    sum = 0;
    X256(sum += x[(lane + i) & 15u]; ++i;)
    varying_[lane] = sum;

    some[lane] = 0;
    for (uint round = 0; round < 2; ++round) {
        if (lane >= 5) continue;
        X256(some[lane] += x[i & 15u]; ++i;)
    }
}
