// Branches, loops and early exits nested four deep, different for each of 64 invocations. Each arm comes to a
// polynomial, which is what is expected.
//
// test run
// target interp passes cpu lowered
// subgroup 4 8 16 32 64 128
// out 0.0 i32 gen 64 = (i % 4 == 0 ? (i >= 32 ? i * 3 : (i % 8 == 0 ? i * (i - 1) / 2 : -i))
//     : i % 4 == 1 ? min(i, 10) * 2
//     : i % 4 == 2 ? (i < 20 ? 1000 + i : 2000 - i)
//     : 7)
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Out { int x[]; };

void main()
{
    int i = int(gl_LocalInvocationID.x);
    int r = 7;
    if (i % 4 == 0) {
        if (i >= 32) {
            r = 0;
            for (int k = 0; k < 3; ++k)
                r += i;
        } else {
            if (i % 8 == 0) {
                r = 0;
                for (int k = 0; k < i; ++k)
                    r += k;
            } else {
                r = -i;
            }
        }
    } else if (i % 4 == 1) {
        r = 0;
        int k = 0;
        while (true) {
            if (k >= i)
                break;
            if (k == 10)
                break;
            r += 2;
            ++k;
        }
    } else if (i % 4 == 2) {
        x[i] = 2000 - i;
        if (i >= 20)
            return;
        r = 1000 + i;
    }
    x[i] = r;
}
