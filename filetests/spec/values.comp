// Specialisation constants of every type: their values, and their defaults where none is given.
//
// test run
// spec 0=-5 1=4000000000 2=f32:2.5 3=true 4=f64:-0.125 5=i64:-5000000000 6=f16:0.5 7=i8:-3 20=77
// out 0.0 f64 [-5 4000000000 2.5 1 -0.125 -5000000000 0.5 -3 42 0]
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 1) in;
layout(constant_id = 0) const int a = 1;
layout(constant_id = 1) const uint b = 2;
layout(constant_id = 2) const float c = 3.0;
layout(constant_id = 3) const bool d = false;
layout(constant_id = 4) const double e = 5.0lf;
layout(constant_id = 5) const int64_t f = 6l;
layout(constant_id = 6) const float16_t g = 7.0hf;
layout(constant_id = 7) const int8_t h = int8_t(8);
layout(constant_id = 8) const int k = 42;
layout(constant_id = 9) const bool l = false;
layout(set = 0, binding = 0) buffer Out { double x[10]; };

void main()
{
    x[0] = double(a);
    x[1] = double(b);
    x[2] = double(c);
    x[3] = d ? 1.0lf : 0.0lf;
    x[4] = e;
    x[5] = double(f);
    x[6] = double(g);
    x[7] = double(int(h));
    x[8] = double(k);
    x[9] = l ? 1.0lf : 0.0lf;
}
