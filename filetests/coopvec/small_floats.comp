// Inputs that become 8-bit floats, to nearest even and saturating; the matrix is kept as binary32 and is the unit matrix.
//
// test run
// in 0.0 f16 [1.0625 1.1875 464 60000 -inf 0.0009765625 nan -0.3]
// in 0.1 f32 gen 8 x 8 = r == c
// in 0.2 f32 gen 8 x 8 = i % 9 - 4
// matrix 0.1 e4m3 1 1 0
// matrix 0.2 e4m3 8 8 0
// out 0.3 f32 [1 1.25 448 448 -448 0 nan -0.3125]
// out 0.4 f32 [1 1.25 448 57344 -57344 0.0009765625 nan -0.3125]
// out 0.5 f16 gen 8 = sum(k, 8, (k - 3) * $0.2[i*8+k])
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer X { float16_t x[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(set = 0, binding = 2) readonly buffer B { float b[]; };
layout(set = 0, binding = 3) buffer R { float r[]; };
layout(set = 0, binding = 4) buffer S { float s[]; };
layout(set = 0, binding = 5) buffer T { float16_t t[]; };

const int LAYOUT = gl_CooperativeVectorMatrixLayoutInferencingOptimalNV;

// A component alone: what is not a number would be so in all results.
float alone(coopvecNV<float16_t, 8> v, int j, int type)
{
    coopvecNV<float16_t, 1> one = coopvecNV<float16_t, 1>(v[j]);
    coopvecNV<float, 1> result;
    if (type == 0)
        coopVecMatMulNV(result, one, gl_ComponentTypeFloatE4M3NV, a, 0, gl_ComponentTypeFloatE4M3NV, 1, 1, LAYOUT, false, 0);
    else
        coopVecMatMulNV(result, one, gl_ComponentTypeFloatE5M2NV, a, 0, gl_ComponentTypeFloatE5M2NV, 1, 1, LAYOUT, false, 0);
    return result[0];
}

void main()
{
    coopvecNV<float16_t, 8> v;
    coopVecLoadNV(v, x, 0);
    for (int j = 0; j < 8; j++) {
        r[j] = alone(v, j, 0);
        s[j] = alone(v, j, 1);
    }
    for (int j = 0; j < 8; j++)
        v[j] = float16_t(j - 3);
    coopvecNV<float16_t, 8> w;
    coopVecMatMulNV(w, v, gl_ComponentTypeFloatE4M3NV, b, 0, gl_ComponentTypeFloatE4M3NV, 8, 8, LAYOUT, true, 0);
    coopVecMatMulNV(w, v, gl_ComponentTypeFloatE5M2NV, b, 0, gl_ComponentTypeFloatE4M3NV, 8, 8, LAYOUT, false, 0);
    coopVecStoreNV(w, t, 0);
}
