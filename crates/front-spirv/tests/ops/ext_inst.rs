//! GLSL.std.450 and debug printf.

use crate::harness::{Shader, refused};

fn glsl(ty: &str, call: &str) -> String {
    format!("OpExtInst %{ty} %glsl {call}")
}

#[test]
fn scalar_functions() {
    let mut s = Shader::new();
    let (x, y, z) = (s.f("f32", -2.5), s.f("f32", 0.75), s.f("f32", 4.0));
    let (nan, zero) = (s.f("f32", f64::NAN), s.f("f32", 0.0));
    s.exactly(&glsl("f32", &format!("RoundEven {x}")), &[-2.0]);
    s.exactly(&glsl("f32", &format!("Trunc {x}")), &[-2.0]);
    s.exactly(&glsl("f32", &format!("Floor {x}")), &[-3.0]);
    s.exactly(&glsl("f32", &format!("Ceil {x}")), &[-2.0]);
    s.exactly(&glsl("f32", &format!("Fract {x}")), &[0.5]);
    s.exactly(&glsl("f32", &format!("FAbs {x}")), &[2.5]);
    s.exactly(&glsl("f32", &format!("FSign {x}")), &[-1.0]);
    s.exactly(&glsl("f32", &format!("FMin {nan} {y}")), &[0.75]);
    s.exactly(&glsl("f32", &format!("NMax {y} {nan}")), &[0.75]);
    s.exactly(&glsl("f32", &format!("FClamp {x} {zero} {z}")), &[0.0]);
    s.exactly(&glsl("f32", &format!("NClamp {nan} {zero} {z}")), &[0.0]);
    s.exactly(&glsl("f32", &format!("FMix {x} {z} {y}")), &[2.375]);
    s.exactly(&glsl("f32", &format!("Step {y} {y}")), &[1.0]);
    s.exactly(&glsl("f32", &format!("Step {y} {x}")), &[0.0]);
    // t = 0.1875: t * t * (3 - 2 t).
    s.exactly(&glsl("f32", &format!("SmoothStep {zero} {z} {y}")), &[0.1875 * 0.1875 * 2.625]);
    s.exactly(&glsl("f32", &format!("Fma {x} {y} {z}")), &[2.125]);
    s.exactly(&glsl("f32", &format!("Sqrt {z}")), &[2.0]);
    s.exactly(&glsl("f32", &format!("InverseSqrt {z}")), &[0.5]);
    s.near(&glsl("f32", &format!("Radians {z}")), &[4f64.to_radians()], 1e-7);
    s.near(&glsl("f32", &format!("Degrees {z}")), &[4f64.to_degrees()], 2e-5);
    s.near(&glsl("f32", &format!("Sin {z}")), &[4f64.sin()], 1e-6);
    s.near(&glsl("f32", &format!("Atan2 {x} {y}")), &[(-2.5f64).atan2(0.75)], 1e-6);
    s.near(&glsl("f32", &format!("Pow {z} {y}")), &[4f64.powf(0.75)], 1e-5);
    s.near(&glsl("f32", &format!("Exp2 {x}")), &[(-2.5f64).exp2()], 1e-6);
    s.near(&glsl("f32", &format!("Log {z}")), &[4f64.ln()], 1e-6);
    s.run();
}

#[test]
fn integers() {
    let mut s = Shader::new();
    let (neg, seven, zero) = (s.c("i32", -9_i32 as u32 as u64), s.c("i32", 7), s.c("i32", 0));
    s.bits(&glsl("i32", &format!("SAbs {neg}")), &[9]);
    s.bits(&glsl("i32", &format!("SSign {neg}")), &[0xffff_ffff]);
    s.bits(&glsl("i32", &format!("SMin {neg} {seven}")), &[-9_i32 as u32 as u64]);
    s.bits(&glsl("i32", &format!("UMin {neg} {seven}")), &[7]);
    s.bits(&glsl("i32", &format!("SClamp {neg} {zero} {seven}")), &[0]);
    s.bits(&glsl("i32", &format!("UClamp {neg} {zero} {seven}")), &[7]);
    s.bits(&glsl("i32", &format!("FindILsb {zero}")), &[0xffff_ffff]);
    s.bits(&glsl("i32", &format!("FindILsb {neg}")), &[0]);
    s.bits(&glsl("i32", &format!("FindSMsb {neg}")), &[3]);
    s.bits(&glsl("i32", &format!("FindUMsb {neg}")), &[31]);
    s.run();
}

#[test]
fn geometry() {
    let mut s = Shader::new();
    let (x, y) = (s.fv("v3f32", &[3.0, 0.0, 4.0]), s.fv("v3f32", &[0.0, 2.0, 0.0]));
    let one = s.f("f32", -3.0);
    s.exactly(&glsl("f32", &format!("Length {x}")), &[5.0]);
    s.exactly(&glsl("f32", &format!("Length {one}")), &[3.0]);
    s.near(&glsl("f32", &format!("Distance {x} {y}")), &[29f64.sqrt()], 1e-6);
    s.near(&glsl("v3f32", &format!("Normalize {x}")), &[0.6, 0.0, 0.8], 1e-7);
    s.exactly(&glsl("v3f32", &format!("Cross {x} {y}")), &[-8.0, 0.0, 6.0]);
    let (n, i) = (s.fv("v2f32", &[0.0, 1.0]), s.fv("v2f32", &[1.0, -1.0]));
    s.exactly(&glsl("v2f32", &format!("FaceForward {n} {i} {n}")), &[0.0, 1.0]);
    s.exactly(&glsl("v2f32", &format!("FaceForward {n} {n} {n}")), &[-0.0, -1.0]);
    s.exactly(&glsl("v2f32", &format!("Reflect {i} {n}")), &[1.0, 1.0]);
    let (half, two) = (s.f("f32", 0.5), s.f("f32", 2.0));
    let down = s.fv("v2f32", &[0.6, -0.8]);
    // k = 1 - 0.25 * 0.36; the refracted ray stays of unit length.
    let k = (1.0f64 - 0.25 * 0.36).sqrt();
    s.near(&glsl("v2f32", &format!("Refract {down} {n} {half}")), &[0.3, -k], 1e-6);
    s.exactly(&glsl("v2f32", &format!("Refract {down} {n} {two}")), &[0.0, 0.0]);
    s.run();
}

#[test]
fn matrices() {
    let mut s = Shader::new();
    let (c0, c1) = (s.fv("v2f32", &[1.0, 2.0]), s.fv("v2f32", &[3.0, 4.0]));
    let m = s.composite("m2x2f32", &[c0, c1]);
    s.exactly(&glsl("f32", &format!("Determinant {m}")), &[-2.0]);
    let inverse = s.op(&glsl("m2x2f32", &format!("MatrixInverse {m}")));
    for (path, want) in [("0 0", -2f32), ("0 1", 1.0), ("1 0", 1.5), ("1 1", -0.5)] {
        s.part(&inverse, path, "f32", want.to_bits().into());
    }
    let columns: Vec<String> =
        [[2.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0], [0.0, 3.0, 4.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
            .iter()
            .map(|c| s.fv("v4f32", c))
            .collect();
    let m = s.composite("m4x4f32", &columns);
    s.exactly(&glsl("f32", &format!("Determinant {m}")), &[8.0]);
    let inverse = s.op(&glsl("m4x4f32", &format!("MatrixInverse {m}")));
    let identity = s.op(&format!("OpMatrixTimesMatrix %m4x4f32 {m} {inverse}"));
    for i in 0..16 {
        let want: f32 = if i / 4 == i % 4 { 1.0 } else { 0.0 };
        let part = s.op(&format!("OpCompositeExtract %f32 {identity} {} {}", i / 4, i % 4));
        s.near(&format!("OpCopyObject %f32 {part}"), &[want.into()], 0.0);
    }
    s.run();
}

#[test]
fn packing() {
    let mut s = Shader::new();
    s.capability("Float64");
    let v = s.fv("v4f32", &[-2.0, 1.0, 0.5, -0.5]);
    s.bits(&glsl("u32", &format!("PackSnorm4x8 {v}")), &[0xc040_7f81]);
    s.bits(&glsl("u32", &format!("PackUnorm4x8 {v}")), &[0x0080_ff00]);
    let w = s.fv("v2f32", &[1.0, -1.0]);
    s.bits(&glsl("u32", &format!("PackSnorm2x16 {w}")), &[0x8001_7fff]);
    s.bits(&glsl("u32", &format!("PackUnorm2x16 {w}")), &[0xffff]);
    s.bits(&glsl("u32", &format!("PackHalf2x16 {w}")), &[0xbc00_3c00]);
    let word = s.c("u32", 0x8081_7fff);
    s.exactly(&glsl("v4f32", &format!("UnpackSnorm4x8 {word}")), &[-1.0 / 127.0, 1.0, -1.0, -1.0]);
    s.exactly(&glsl("v2f32", &format!("UnpackSnorm2x16 {word}")), &[1.0, f64::from(-32639f32 / 32767.0)]);
    s.exactly(
        &glsl("v2f32", &format!("UnpackUnorm2x16 {word}")),
        &[f64::from(32767f32 / 65535.0), f64::from(32897f32 / 65535.0)],
    );
    let halves = s.c("u32", 0x7c00_0001);
    s.exactly(&glsl("v2f32", &format!("UnpackHalf2x16 {halves}")), &[2f64.powi(-24), f64::INFINITY]);
    let words = s.iv("v2u32", &[0, 0x3ff0_0000]);
    s.exactly(&glsl("f64", &format!("PackDouble2x32 {words}")), &[1.0]);
    let double = s.f("f64", 1.0);
    s.bits(&glsl("v2u32", &format!("UnpackDouble2x32 {double}")), &[0, 0x3ff0_0000]);
    s.run();
}

#[test]
fn taking_apart() {
    let mut s = Shader::new();
    s.capability("Float16");
    s.capability("Float64");
    s.global("%modf_f32 = OpTypeStruct %f32 %f32");
    s.global("%frexp_f32 = OpTypeStruct %f32 %i32");
    s.global("%frexp_f16 = OpTypeStruct %f16 %i32");
    s.global("%frexp_f64 = OpTypeStruct %f64 %i32");
    s.global("%ptr_f32 = OpTypePointer Function %f32");
    s.global("%ptr_i32 = OpTypePointer Function %i32");
    s.line("%whole = OpVariable %ptr_f32 Function");
    s.line("%exp = OpVariable %ptr_i32 Function");
    let x = s.f("f32", -2.75);
    let inf = s.f("f32", f64::INFINITY);
    s.exactly(&glsl("f32", &format!("Modf {x} %whole")), &[-0.75]);
    s.exactly("OpLoad %f32 %whole", &[-2.0]);
    let parts = s.op(&glsl("modf_f32", &format!("ModfStruct {inf}")));
    s.part(&parts, "0", "f32", 0);
    s.part(&parts, "1", "f32", f32::INFINITY.to_bits().into());
    s.exactly(&glsl("f32", &format!("Frexp {x} %exp")), &[-0.6875]);
    s.bits("OpLoad %i32 %exp", &[2]);
    let mut frexp = |ty: &str, x: f64, significand: f64, exponent: i32| {
        let x = s.f(ty, x);
        let parts = s.op(&glsl(&format!("frexp_{ty}"), &format!("FrexpStruct {x}")));
        s.exactly(&format!("OpCompositeExtract %{ty} {parts} 0"), &[significand]);
        s.part(&parts, "1", "i32", exponent as u32 as u64);
    };
    frexp("f32", 0.0, 0.0, 0);
    frexp("f32", -0.0, -0.0, 0);
    frexp("f32", 1.0, 0.5, 1);
    frexp("f32", f64::from(f32::from_bits(1)), 0.5, -148);
    frexp("f32", f64::NEG_INFINITY, f64::NEG_INFINITY, 0);
    frexp("f16", 3.0 * 2f64.powi(-24), 0.75, -22);
    frexp("f64", 5e-324, 0.5, -1073);
    frexp("f64", f64::MAX, 1.0 - 2f64.powi(-53), 1024);
    let (three, n) = (s.f("f32", 3.0), s.c("i32", -2_i32 as u32 as u64));
    s.exactly(&glsl("f32", &format!("Ldexp {three} {n}")), &[0.75]);
    s.run();
}

#[test]
fn printf() {
    let mut s = Shader::new();
    s.capability("Int64");
    s.print = Some("x=%u %v2f|%lu|%d".to_owned());
    let (n, v, wide) = (s.c("u32", 7), s.fv("v2f32", &[1.5, -2.0]), s.c("u64", 1 << 40));
    let byte = s.c("bool", 1);
    s.line(&format!("%p = OpExtInst %void %printf DebugPrintf %format {n} {v} {wide} {byte}"));
    let (_, lines) = s.run_with_output();
    assert_eq!(lines, ["x=7 1.500000, -2.000000|1099511627776|1"]);
}

#[test]
fn refusals() {
    let case = |call: &str| {
        let mut s = Shader::new();
        s.global("%one = OpConstant %u32 1");
        s.global("%half = OpConstant %f32 0.5");
        s.op(&glsl("f32", call));
        refused(&s)
    };
    assert!(case("Sqrt %one").contains("expected f16, f32 or f64"));
    assert!(case("Cross %half %half").contains("expected 3"));
    assert!(case("Determinant %half").contains("expected a matrix"));
    assert!(case("Modf %half %one").contains("expected a pointer"));
    assert!(case("InterpolateAtCentroid %half").contains("InterpolateAtCentroid"));
    assert!(case("PackHalf2x16 %half").contains("components"));
}
