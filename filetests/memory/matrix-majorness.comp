// Row- and column-major matrices with the strides of std430 and std140: whole, by column, by element with
// constant and dynamic indices. Row-major m[c][r] lies at r * MatrixStride + 4 * c.
//
// test run
// in 0.0 f32 [1 2 3] pad 4 f32 [4 5 6] pad 4
//     f32 [11 12 13] pad 4 f32 [21 22 23] pad 4
//     f32 [31 32] f32 [33 34] f32 [35 36]
// out 0.1 f32 [1 2 3 4 5 6]  f32 [11 21 12 22 13 23]  f32 [31 33 35 32 34 36]  f32 [5 22 33] f32 [100 92]
// out 0.2 f32 [1 4 2 5 0 0 2 5 3 6]
#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, std430) readonly buffer In {
    layout(column_major) mat2x3 a;  // two columns of three: stride 16
    layout(row_major) mat3x2 b;     // three columns of two, in two rows of three: stride 16
    layout(row_major) mat2x3 c;     // two columns of three, in three rows of two: stride 8
};
layout(set = 0, binding = 1, std430) writeonly buffer Out { float x[]; };
layout(set = 0, binding = 2, std430) buffer Store {
    layout(row_major) mat2 s;       // rows of two: stride 8
    float pad;
    float pad2;
    layout(column_major) mat2 t;
} o;

void main()
{
    int n = 0;
    for (int col = 0; col < 2; ++col)
        for (int row = 0; row < 3; ++row)
            x[n++] = a[col][row];
    for (int col = 0; col < 3; ++col) {
        vec2 v = b[col];
        x[n++] = v.x;
        x[n++] = v.y;
    }
    mat2x3 whole = c;
    for (int col = 0; col < 2; ++col)
        for (int row = 0; row < 3; ++row)
            x[n++] = whole[col][row];
    x[n++] = a[1].y;
    x[n++] = b[1][1];
    x[n++] = c[0].y;
    vec2 product = b * vec3(1, 2, 5);
    x[n++] = product.x;
    x[n++] = product.y / 2.0 + 2.0;
    o.s = mat2(a[0][0], a[0][1], a[1][0], a[1][1]);
    o.pad = 0.0;
    o.pad2 = 0.0;
    o.t[0] = vec2(2.0, 5.0);
    o.t[1][0] = 3.0;
    o.t[1][1] = 6.0;
}
