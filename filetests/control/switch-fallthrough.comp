// A switch with cases that fall through, share a body, or leave early; each invocation takes its own way.
//
// test run
// target interp passes cpu lowered
// subgroup 4 32 128
// out 0.0 i32 [100 11 1 2 3 100 100 1007]
#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Out { int x[]; };

void main()
{
    int i = int(gl_LocalInvocationID.x);
    int r = 0;
    switch (i) {
    case 1:
        r += 10;
        // falls through
    case 2:
        r += 1;
        break;
    case 3:
        r = 2;
        break;
    case 4: {
        r = 3;
        break;
    }
    case 7:
        r = 7;
        x[i] = 1000 + r;
        return;
    default:
        r = 100;
    }
    x[i] = r;
}
