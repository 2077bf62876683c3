// An undeclared name, and a conversion that GLSL does not do: each on its line.
//
// test translate
#version 450
layout(set = 0, binding = 0) buffer Out { float x[]; };
void main()
{
    x[0] = missing; // error: undeclared identifier
}
