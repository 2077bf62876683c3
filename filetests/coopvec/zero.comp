// Bytes that are all zero are the zero matrix, in every layout and type, transposed or not: what is left is the bias.
//
// test run
// subgroup 4 32
// in 0.0 f16 [1 -2 65504 0.5 3]
// in 0.1 u8 fill 1024 0
// in 0.2 f32 [1.5 -2 0]
// in 0.3 i32 [7 -2147483648 2147483647]
// out 0.4 f32 gen 12 x 3 = $0.2[c]
// out 0.5 i32 gen 4 x 3 = $0.3[c]
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer X { float16_t x[]; };
layout(set = 0, binding = 1) readonly buffer A { uint8_t a[]; };
layout(set = 0, binding = 2) readonly buffer B { float b[]; };
layout(set = 0, binding = 3) readonly buffer C { int c[]; };
layout(set = 0, binding = 4) buffer R { float r[]; };
layout(set = 0, binding = 5) buffer S { int s[]; };

#define FLOATS(n, type, layout, transposed) \
    coopVecMatMulAddNV(w, v, type, a, 0, type, b, 0, gl_ComponentTypeFloat32NV, 3, 5, layout, transposed, 32); \
    coopVecStoreNV(w, r, n * 12);
#define BYTES(n, layout, transposed) \
    coopVecMatMulAddNV(z, v, gl_ComponentTypeSignedInt8NV, a, 0, gl_ComponentTypeSignedInt8NV, c, 0, \
                       gl_ComponentTypeSignedInt32NV, 3, 5, layout, transposed, 16); \
    coopVecStoreNV(z, s, n * 12);

void main()
{
    coopvecNV<float16_t, 5> v;
    coopVecLoadNV(v, x, 0);
    coopvecNV<float, 3> w;
    coopvecNV<int, 3> z;
    FLOATS(0, gl_ComponentTypeFloat16NV, gl_CooperativeVectorMatrixLayoutRowMajorNV, false)
    FLOATS(1, gl_ComponentTypeFloat16NV, gl_CooperativeVectorMatrixLayoutColumnMajorNV, false)
    FLOATS(2, gl_ComponentTypeFloat16NV, gl_CooperativeVectorMatrixLayoutInferencingOptimalNV, false)
    FLOATS(3, gl_ComponentTypeFloat16NV, gl_CooperativeVectorMatrixLayoutTrainingOptimalNV, true)
    FLOATS(4, gl_ComponentTypeFloat32NV, gl_CooperativeVectorMatrixLayoutRowMajorNV, false)
    FLOATS(5, gl_ComponentTypeFloat32NV, gl_CooperativeVectorMatrixLayoutColumnMajorNV, false)
    FLOATS(6, gl_ComponentTypeFloat32NV, gl_CooperativeVectorMatrixLayoutInferencingOptimalNV, true)
    FLOATS(7, gl_ComponentTypeFloat32NV, gl_CooperativeVectorMatrixLayoutTrainingOptimalNV, false)
    FLOATS(8, gl_ComponentTypeFloatE4M3NV, gl_CooperativeVectorMatrixLayoutInferencingOptimalNV, false)
    FLOATS(9, gl_ComponentTypeFloatE4M3NV, gl_CooperativeVectorMatrixLayoutTrainingOptimalNV, true)
    FLOATS(10, gl_ComponentTypeFloatE5M2NV, gl_CooperativeVectorMatrixLayoutInferencingOptimalNV, true)
    FLOATS(11, gl_ComponentTypeFloatE5M2NV, gl_CooperativeVectorMatrixLayoutTrainingOptimalNV, false)
    BYTES(0, gl_CooperativeVectorMatrixLayoutRowMajorNV, false)
    BYTES(1, gl_CooperativeVectorMatrixLayoutColumnMajorNV, false)
    BYTES(2, gl_CooperativeVectorMatrixLayoutInferencingOptimalNV, true)
    BYTES(3, gl_CooperativeVectorMatrixLayoutTrainingOptimalNV, false)
}
