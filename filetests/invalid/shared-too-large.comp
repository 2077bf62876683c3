// More shared memory than a device has.
//
// test translate
// error: invalid
#version 450
shared uint place[1 << 28];
layout(set = 0, binding = 0) buffer Out { uint x[]; };
void main()
{
    place[x[1]] = 1;
    x[0] = place[5];
}
