// `&&`, `||` and `?:` evaluate their right sides only where they must.
//
// test run
// subgroup 4
// inout 0.1 i32 [0 0 0]
// out 0.0 i32 [0 1 0 1 1 1 20 10]
// out 0.1 i32 [2 2 1]
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Out { int x[8]; };
layout(set = 0, binding = 1) buffer Count { int n[3]; };

bool touch(int which, bool result)
{
    n[which] += 1;
    return result;
}

int value(int v)
{
    n[2] += 1;
    return v;
}

void main()
{
    x[0] = int(false && touch(0, true));
    x[1] = int(true && touch(0, true));
    x[2] = int(true && touch(0, false));
    x[3] = int(true || touch(1, true));
    x[4] = int(false || touch(1, true));
    x[5] = int(!(false || touch(1, false)));
    x[6] = x[1] == 1 ? 20 : value(30);
    x[7] = x[0] == 1 ? 5 : value(10);
}
