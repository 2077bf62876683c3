// Code behind returns, breaks and constant conditions.
//
// test run
// out 0.0 i32 [1 2 3 4]
#version 450
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) buffer Out { int x[]; };

int f(int v)
{
    return v;
    return v + 100;
}

void main()
{
    int i = int(gl_LocalInvocationID.x);
    if (false)
        x[i] = 50;
    while (true) {
        x[i] = f(i) + 1;
        break;
        x[i] = 51;
    }
    return;
    x[i] = 52;
}
