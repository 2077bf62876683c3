// Functions that call functions in loops and branches, and return vectors, arrays and structures.
//
// test run
// subgroup 4 32
// out 0.0 f32 gen 8 = i < 4 ? i * 3 + 1 : 100 + i
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Out { float x[]; };

struct Result { float value; vec2 more[2]; };

float[2] pair(float a, float b) { return float[2](a, b); }

Result make(float v)
{
    Result r;
    r.value = v;
    r.more[0] = vec2(v + 1, v + 2);
    r.more[1] = r.more[0].yx;
    return r;
}

float pick(int i)
{
    if (i < 4) {
        float total = 0.0;
        for (int k = 0; k < 3; ++k)
            total += make(float(i)).value;
        return total + make(0.0).more[1].y;
    }
    return pair(100.0, float(i))[0] + pair(100.0, float(i))[1];
}

void main()
{
    uint i = gl_GlobalInvocationID.x;
    x[i] = pick(int(i % 8));
}
