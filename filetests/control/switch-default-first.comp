// The default stands first and falls into a case.
//
// test run
// subgroup 4 32
// out 0.0 i32 [12 2 10 12]
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) buffer Out { int x[]; };

void main()
{
    int i = int(gl_LocalInvocationID.x);
    int r = 0;
    switch (i) {
    default:
        r += 10;
    case 1:
        r += 2;
        break;
    case 2:
        r = 10;
    }
    x[i] = r;
}
