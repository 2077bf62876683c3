// debugPrintfEXT: conversions, widths, vectors, 64-bit numbers, per cent signs, no arguments.
//
// test run
// subgroup 4 32
// printf "i=-5 u=7 x=0x1f"
// printf "f=1.50 e=1.500000e+00 3.25"
// printf "v=(1, 2, 3) and 100%"
// printf "long -5000000000 18446744073709551615"
// printf "plain"
#version 450
#extension GL_EXT_debug_printf : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 1) in;

void main()
{
    debugPrintfEXT("i=%d u=%u x=0x%x", -5, 7u, 31u);
    debugPrintfEXT("f=%.2f e=%e %1.2f", 1.5, 1.5, 3.25);
    debugPrintfEXT("v=(%v3d) and 100%%", ivec3(1, 2, 3));
    debugPrintfEXT("long %ld %lu", int64_t(-5000000000l), uint64_t(0xffffffffffffffffUL));
    debugPrintfEXT("plain");
}
