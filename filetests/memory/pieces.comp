// Vectors of each invocation at places that do not lie evenly: in another order, outside, partly outside (each
// component by itself), and for some invocations only.
//
// test run
// subgroup 4 16 32
// in 0.0 i32 gen 258 = i + 1
// in 0.1 i32 gen 64 = i % 5 == 4 ? 1000 + i : i * 37 % 64
// out 0.2 i32 gen 256 = div(i, 4) * 37 % 64 * 4 + i % 4 + 1
// out 0.3 i32 gen 256 = div(i, 4) % 5 == 4 ? 0 : div(i, 4) * 37 % 64 * 4 + i % 4 + 1
// inout 0.4 i32 gen 256 = -1
// out 0.4 i32 gen 256 = div(i, 4) * 45 % 64 % 3 == 0 ? -1 : i + 1
// out 0.5 i32 gen 256 = div(i, 4) == 5 ? (i % 4 < 2 ? 257 + i % 4 : 0) : div(i, 4) * 37 % 64 * 4 + i % 4 + 1
// out 0.6 i32 gen 254 = i
// out 0.7 i32 gen 128 = div(i, 2) % 5 == 4 ? 0 : div(i, 2) * 37 % 64 * 2 + i % 2 + 1
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { ivec4 x[]; };
layout(set = 0, binding = 0) readonly buffer InPairs { ivec2 pairs[]; };
layout(set = 0, binding = 1) readonly buffer Places { int place[]; };
layout(set = 0, binding = 2) buffer Mixed { ivec4 mixed[]; };
layout(set = 0, binding = 3) buffer Outside { ivec4 outside[]; };
layout(set = 0, binding = 4) buffer Some { ivec4 some[]; };
layout(set = 0, binding = 5) buffer Partly { ivec4 partly[]; };
layout(set = 0, binding = 6) buffer Cut { ivec4 cut[]; };
layout(set = 0, binding = 7) buffer Pairs { ivec2 pair[]; };

void main()
{
    int l = int(gl_LocalInvocationIndex);
    int other = l * 37 % 64;
    mixed[l] = x[other];
    outside[l] = x[place[l]];
    if (l % 3 != 0)
        some[other] = x[other];
    partly[l] = x[l == 5 ? 64 : other];
    cut[other] = ivec4(4 * other) + ivec4(0, 1, 2, 3);
    pair[l] = pairs[place[l]];
}
