// Integers: inputs of 8 bits, packed ones of which the last word is used in part, inputs that saturate to 8 bits by their
// own sign, and floats that are rounded to nearest even; sums and biases wrap.
//
// test run
// subgroup 4 32
// in 0.0 i8 gen 36 x 6 = (i * 37) % 256 - 128
// in 0.1 i8 gen 4 x 16 = c < 6 ? (i * 29) % 256 - 128 : 77
// matrix 0.1 s8 4 6 0
// in 0.12 i8 gen 4 x 16 = c < 6 ? (i * 29) % 256 - 128 : 77
// in 0.2 i32 [2147483647 -2147483648 5 -7]
// in 0.3 f32 [0.5 1.5 -2.5 300 -300 nan]
// in 0.4 u32 [200 4294967295 127 128 0 3]
// out 0.5 i32 gen 36 x 4 = i32(sum(k, 6, $0.0[r*6+k] * $0.1[c*16+k]))
// out 0.6 i32 gen 36 x 4 = i32(sum(k, 6, ($0.0[r*6+k] + ($0.0[r*6+k] < 0 ? 256 : 0)) * $0.1[c*16+k]) + $0.2[c])
// out 0.7 i32 gen 36 x 4 = i32(sum(k, 6, $0.0[r*6+k] * ($0.1[c*16+k] + ($0.1[c*16+k] < 0 ? 256 : 0))))
// out 0.8 i32 gen 4 = 0 * $0.1[i*16] + 2 * $0.1[i*16+1] - 2 * $0.1[i*16+2] + 127 * $0.1[i*16+3] - 128 * $0.1[i*16+4]
// out 0.9 i32 gen 4 = 127 * ($0.1[i*16] + $0.1[i*16+1] + $0.1[i*16+2] + $0.1[i*16+3]) + 3 * $0.1[i*16+5]
// out 0.10 i32 gen 4 = 127 * ($0.1[i*16] + $0.1[i*16+2] + $0.1[i*16+3]) - $0.1[i*16+1] + 3 * $0.1[i*16+5] - 73 * 0
// out 0.11 i32 gen 4 = 200 * $0.1[i*16] + 127 * $0.1[i*16+2] + 128 * $0.1[i*16+3] + 3 * $0.1[i*16+5]
#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require

layout(local_size_x = 36) in;
layout(set = 0, binding = 0) readonly buffer X { int8_t x[]; };
layout(set = 0, binding = 1) readonly buffer A { int8_t a[]; };
layout(set = 0, binding = 12) readonly buffer Rows { int8_t rows[]; };
layout(set = 0, binding = 2) readonly buffer B { int b[]; };
layout(set = 0, binding = 3) readonly buffer F { float f[]; };
layout(set = 0, binding = 4) readonly buffer U { uint u[]; };
layout(set = 0, binding = 5) buffer R0 { int r0[]; };
layout(set = 0, binding = 6) buffer R1 { int r1[]; };
layout(set = 0, binding = 7) buffer R2 { int r2[]; };
layout(set = 0, binding = 8) buffer R3 { int r3[]; };
layout(set = 0, binding = 9) buffer R4 { int r4[]; };
layout(set = 0, binding = 10) buffer R5 { int r5[]; };
layout(set = 0, binding = 11) buffer R6 { int r6[]; };

const int S8 = gl_ComponentTypeSignedInt8NV;
const int U8 = gl_ComponentTypeUnsignedInt8NV;
const int LAYOUT = gl_CooperativeVectorMatrixLayoutInferencingOptimalNV;

void main()
{
    uint i = gl_LocalInvocationIndex;
    coopvecNV<int8_t, 6> v;
    coopVecLoadNV(v, x, i * 6);
    coopvecNV<int, 4> w;
    coopVecMatMulNV(w, v, S8, a, 0, S8, 4, 6, LAYOUT, false, 0);
    coopVecStoreNV(w, r0, i * 16);

    // Packed as bytes without a sign.
    coopvecNV<uint, 2> packed = coopvecNV<uint, 2>(0);
    for (int j = 0; j < 6; j++)
        packed[j / 4] |= (uint(int(v[j])) & 0xff) << (8 * (j % 4));
    packed[1] |= 0xabcd0000;
    coopVecMatMulAddNV(w, packed, gl_ComponentTypeUnsignedInt8PackedNV, a, 0, S8, b, 0, gl_ComponentTypeSignedInt32NV,
                       4, 6, LAYOUT, false, 0);
    coopVecStoreNV(w, r1, i * 16);

    // And with one, with more words than are needed.
    coopvecNV<uint, 3> more = coopvecNV<uint, 3>(packed[0], packed[1], 0xffffffff);
    coopVecMatMulNV(w, more, gl_ComponentTypeSignedInt8PackedNV, rows, 0, U8, 4, 6,
                    gl_CooperativeVectorMatrixLayoutRowMajorNV, false, 16);
    coopVecStoreNV(w, r2, i * 16);

    if (i == 35) {
        coopvecNV<float, 6> floats;
        coopVecLoadNV(floats, f, 0);
        coopVecMatMulNV(w, floats, S8, a, 0, S8, 4, 6, LAYOUT, false, 0);
        coopVecStoreNV(w, r3, 0);
        coopvecNV<uint, 6> words;
        coopVecLoadNV(words, u, 0);
        coopVecMatMulNV(w, words, S8, a, 0, S8, 4, 6, LAYOUT, false, 0);
        coopVecStoreNV(w, r4, 0);
        coopvecNV<int, 6> signed_words = coopvecNV<int, 6>(words);
        coopVecMatMulNV(w, signed_words, S8, a, 0, S8, 4, 6, LAYOUT, false, 0);
        coopVecStoreNV(w, r5, 0);
        coopVecMatMulNV(w, signed_words, U8, a, 0, S8, 4, 6, LAYOUT, false, 0);
        coopVecStoreNV(w, r6, 0);
    }
}
