// Packed inputs with more words than K needs, whose rest must not matter, with and without a sign, the first number in the
// lowest byte; the matrix is in an array of floats, whose type says nothing.
//
// test run
// subgroup 4 32
// in 0.0 u32 [0x80ff7f01 0x12345602 0xffffffff 0xdeadbeef]
// in 0.1 i8 gen 3 x 16 = c < 5 ? (r * 5 + c) * 11 - 60 : 99
// in 0.2 i32 [0 0]
// out 0.3 i32 gen 3 = 1 * $0.1[i*16] + 127 * $0.1[i*16+1] - $0.1[i*16+2] - 128 * $0.1[i*16+3] + 2 * $0.1[i*16+4]
// out 0.4 i32 gen 3 = 1 * $0.1[i*16] + 127 * $0.1[i*16+1] + 255 * $0.1[i*16+2] + 128 * $0.1[i*16+3] + 2 * $0.1[i*16+4]
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) readonly buffer A { float a[]; };
layout(set = 0, binding = 2) readonly buffer B { int b[]; };
layout(set = 0, binding = 3) buffer R { int r[]; };
layout(set = 0, binding = 4) buffer S { int s[]; };

void main()
{
    coopvecNV<uint, 4> v;
    coopVecLoadNV(v, x, 0);
    coopvecNV<int, 3> w;
    coopVecMatMulNV(w, v, gl_ComponentTypeSignedInt8PackedNV, a, 0, gl_ComponentTypeSignedInt8NV, 3, 5,
                    gl_CooperativeVectorMatrixLayoutRowMajorNV, false, 16);
    coopVecStoreNV(w, r, 0);
    coopVecMatMulNV(w, v, gl_ComponentTypeUnsignedInt8PackedNV, a, 0, gl_ComponentTypeSignedInt8NV, 3, 5,
                    gl_CooperativeVectorMatrixLayoutRowMajorNV, false, 16);
    coopVecStoreNV(w, s, 0);
}
