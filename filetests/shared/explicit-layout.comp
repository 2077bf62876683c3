// Shared memory with an explicit layout: two blocks share it, so what one writes the other reads as other types.
//
// test run
// target interp passes cpu lowered
// subgroup 4 32
// out 0.0 u32 [0x3f800000 0x40000000 0x40400000 0x40800000] u32 [16384] u32 [12]
#version 450
#extension GL_EXT_shared_memory_block : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) buffer Out { uint x[]; };
shared Floats { float f[4]; };
shared Words { uint w[4]; };
shared Halves { layout(offset = 4) uint16_t h[6]; };

void main()
{
    uint i = gl_LocalInvocationIndex;
    f[i] = float(i + 1);
    barrier();
    x[i] = w[i];
    if (i == 0) {
        x[4] = uint(h[1]);
        x[5] = 4 + 2 * 4;
    }
}
