// Returns from inside of nested constructs of main and of functions.
//
// test run
// subgroup 4 32
// out 0.0 i32 [-1 10 20 31 32 33 99 99]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Out { int x[]; };

int classify(int v)
{
    if (v < 3) {
        if (v == 0)
            return -1;
        for (int i = 0; i < 10; ++i) {
            if (i == v)
                return i * 10;
        }
        return -2;
    }
    switch (v) {
    case 3: return 31;
    case 4: return 32;
    case 5: return 33;
    }
    return 99;
}

void main()
{
    int i = int(gl_LocalInvocationID.x);
    x[i] = 7;
    x[i] = classify(i);
    if (i < 100)
        return;
    x[i] = 1234;
}
