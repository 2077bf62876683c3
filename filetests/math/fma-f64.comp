// A multiply-add of doubles rounds once: an infinity may be added to any product, near the largest numbers a product
// may exceed them, and below the normal ones nothing is rounded twice.
//
// test run
// subgroup 4 8
// isa all
// in 0.0 f64 [1e+200 -1.8897725244761876e-108 9.36369528007276e-09 9007199254740992.0 1.7976931348623157e308 1.7976931348623157e308 1e-170 4.9406564584124654e-324]
// in 0.1 f64 [1e+200 -1.7976931348623157e+308 1.7976931348623157e+308 1e+308 2 1.0000000000000002 1e-170 0.5]
// in 0.2 f64 [-inf -1e+200 -1.4336231886041283e+290 -inf -1.7976931348623157e308 -1.7976931348623157e308 4.9406564584124654e-324 4.9406564584124654e-324]
// out 0.3 f64 [-inf 2.39723109370227e+200 1.6833050720495847e+300 -inf 1.7976931348623157e308 3.991680619069439e+292 4.9406564584124654e-324 9.8813129168249309e-324]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) readonly buffer A { double a[]; };
layout(set = 0, binding = 1) readonly buffer B { double b[]; };
layout(set = 0, binding = 2) readonly buffer C { double c[]; };
layout(set = 0, binding = 3) buffer D { double d[]; };

void main()
{
    const uint i = gl_GlobalInvocationID.x;
    d[i] = fma(a[i], b[i], c[i]);
}
