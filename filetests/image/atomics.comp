// Atomic operations on texels.
//
// test run
// subgroup 4 32
// dispatch 4 1 1
// image 0.0 R32Uint 8 1
// inout 0.0 u32 [0 0 4294967295 0 0 0 7 5]
// out 0.0 u32 [256 255 0 127 64 0 99 6]
// image 0.1 R32Sint 2 1
// inout 0.1 i32 [0 0]
// out 0.1 i32 [-63 63]
// image 0.2 R32Sfloat 2
// inout 0.2 f32 [1 0]
// out 0.2 f32 [2.5 0]
// inout 0.3 u32 fill 4 9
// out 0.3 u32 [7 0 99 5]
#version 450
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, r32ui) uniform uimage2D u;
layout(set = 0, binding = 1, r32i) uniform iimage2D s;
layout(set = 0, binding = 2, r32f) uniform imageBuffer f;
layout(set = 0, binding = 3) buffer Old { uint old[]; };

void main()
{
    uint local = gl_LocalInvocationIndex;
    imageAtomicAdd(u, ivec2(0, 0), 1);
    imageAtomicMax(u, ivec2(1, 0), gl_GlobalInvocationID.x);
    imageAtomicMin(u, ivec2(2, 0), local);
    imageAtomicOr(u, ivec2(3, 0), gl_GlobalInvocationID.x & 127);
    imageAtomicXor(u, ivec2(4, 0), gl_GlobalInvocationID.x == 3 ? 64 : 0);
    // Not in the image.
    imageAtomicAdd(u, ivec2(5, 1), 1);
    imageAtomicAdd(u, ivec2(-1, 0), 1);
    imageAtomicMin(s, ivec2(0, 0), -int(local));
    imageAtomicMax(s, ivec2(1, 0), int(local));
    if (gl_GlobalInvocationID.x == 0) {
        old[0] = imageAtomicExchange(u, ivec2(6, 0), 99);
        old[1] = imageAtomicExchange(u, ivec2(6, 5), 99);
        old[2] = imageAtomicLoad(u, ivec2(6, 0), gl_ScopeDevice, gl_StorageSemanticsImage, gl_SemanticsAcquire);
        old[3] = imageAtomicCompSwap(u, ivec2(7, 0), 5, 6);
        imageAtomicExchange(f, 0, 2.5);
    }
}
