// Matrix products of GLSL, transpose, determinant, inverse, outer product, component-wise multiplication.
//
// test run
// in 0.0 f32 [1 2 3 4] f32 [5 6 7 8]
// tolerance 1e-6 rel 1e-6 abs
// out 0.1 f32 [23 34 31 46] f32 [19 22] f32 [17 39] f32 [1 3 2 4] f32 [-2] f32 [-2 1 1.5 -0.5] f32 [5 10 6 12]
//     f32 [5 12 21 32] f32 [24]
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer In { mat2 a; mat2 b; };
layout(set = 0, binding = 1) writeonly buffer Out { mat2 product; vec2 left; vec2 right; mat2 turned; float det;
    float inv[4]; float outer[4]; float comp[4]; float det3; };

void main()
{
    product = a * b;
    left = a * b[0] - vec2(4, 12);
    right = b[0] * a;
    turned = transpose(a);
    det = determinant(a);
    mat2 i = inverse(a);
    mat2 o = outerProduct(a[0], b[0]);
    mat2 c = matrixCompMult(a, b);
    for (int k = 0; k < 4; ++k) {
        inv[k] = i[k / 2][k % 2];
        outer[k] = o[k / 2][k % 2];
        comp[k] = c[k / 2][k % 2];
    }
    det3 = determinant(mat3(2, 0, 0, 0, 3, 0, 0, 0, 4));
}
