//! What `check` says of the products of matrices and cooperative vectors.

use super::*;

/// A shader of products: of f16 with a bias, of the transpose, of packed bytes as a specialisation constant says, and one of
/// bytes taken for f16, which no device here lists.
const SHADER: &str = "#version 460
#extension GL_NV_cooperative_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 32) in;
layout(constant_id = 3) const int TAKEN_FOR = gl_ComponentTypeSignedInt8PackedNV;
layout(constant_id = 4) const uint N = 8;
layout(binding = 0) buffer B { float16_t b[]; };
const int F16 = gl_ComponentTypeFloat16NV, S8 = gl_ComponentTypeSignedInt8NV;
const int OPTIMAL = gl_CooperativeVectorMatrixLayoutInferencingOptimalNV;
void main() {
    coopvecNV<float16_t, N> v = coopvecNV<float16_t, N>(float16_t(1));
    coopVecMatMulAddNV(v, v, F16, b, 0, F16, b, 64, F16, N, N, OPTIMAL, false, 0);
    coopVecMatMulAddNV(v, v, F16, b, 0, F16, b, 64, F16, N, N, OPTIMAL, false, 0);
    coopVecMatMulNV(v, v, F16, b, 0, F16, N, N, OPTIMAL, true, 0);
    coopvecNV<uint, 2> w = coopvecNV<uint, 2>(1);
    coopvecNV<int, N> r;
    coopVecMatMulNV(r, w, TAKEN_FOR, b, 0, S8, N, 8, OPTIMAL, false, 0);
    coopvecNV<int8_t, N> x = coopvecNV<int8_t, N>(int8_t(1));
    coopVecMatMulNV(v, x, F16, b, 0, F16, N, N, OPTIMAL, false, 0);
    b[gl_LocalInvocationIndex] = v[0] + float16_t(r[0]);
}
";

#[test]
fn a_check_names_the_types_of_products_with_vectors() {
    let directory = empty_directory();
    std::fs::write(directory.path().join("a.comp"), SHADER).expect("writable");
    let text = succeeds(&["check", "a.comp"], directory.path());
    for part in [
        "  matrices * vectors      f16 * f16 as f16 + f16 -> f16\n",
        "   f16 transposed * f16 as f16 -> f16\n",
        "   s8 * u32 as s8 packed -> s32\n",
        "   f16 * s8 as f16 -> f16, which this device has not\n",
    ] {
        assert_eq!(text.matches(part).count(), 1, "`{part}` in\n{text}");
    }
    let text = succeeds(&["check", "a.comp", "--json", "--spec", "3=1000491001"], directory.path());
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let expected = serde_json::json!([
        { "input": "f16", "interpretation": "f16", "matrix": "f16", "bias": "f16", "result": "f16",
          "transpose": false, "is_here": true },
        { "input": "f16", "interpretation": "f16", "matrix": "f16", "bias": null, "result": "f16",
          "transpose": true, "is_here": true },
        { "input": "u32", "interpretation": "u8 packed", "matrix": "s8", "bias": null, "result": "s32",
          "transpose": false, "is_here": true },
        { "input": "s8", "interpretation": "f16", "matrix": "f16", "bias": null, "result": "f16",
          "transpose": false, "is_here": false },
    ]);
    assert_eq!(report["vectors"], expected, "{text}");
}
