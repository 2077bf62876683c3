//! Arithmetic, bits, comparisons, vector and matrix algebra.

use crate::harness::{Shader, refused};

#[test]
fn integers() {
    let mut s = Shader::new();
    s.capability("Int64");
    s.capability("Int8");
    let (min, neg, one, zero) =
        (s.c("i32", 0x8000_0000), s.c("i32", 0xffff_ffff), s.c("i32", 1), s.c("i32", 0));
    let (seven, neg7, three, neg3) =
        (s.c("i32", 7), s.c("i32", -7_i32 as u32 as u64), s.c("i32", 3), s.c("i32", -3_i32 as u32 as u64));
    s.bits(&format!("OpSNegate %i32 {min}"), &[0x8000_0000]);
    s.bits(&format!("OpIAdd %i32 {neg} {one}"), &[0]);
    s.bits(&format!("OpISub %i32 {min} {one}"), &[0x7fff_ffff]);
    s.bits(&format!("OpIMul %i32 {min} {neg}"), &[0x8000_0000]);
    s.bits(&format!("OpSDiv %i32 {neg7} {three}"), &[-2_i32 as u32 as u64]);
    s.bits(&format!("OpUDiv %i32 {neg} {three}"), &[0x5555_5555]);
    s.bits(&format!("OpSRem %i32 {neg7} {three}"), &[-1_i32 as u32 as u64]);
    s.bits(&format!("OpSMod %i32 {neg7} {three}"), &[2]);
    s.bits(&format!("OpSMod %i32 {seven} {neg3}"), &[-2_i32 as u32 as u64]);
    s.bits(&format!("OpUMod %i32 {neg} {seven}"), &[0xffff_ffff % 7]);
    // Signedness is the instruction's: operands and result may be declared otherwise.
    s.bits(&format!("OpIAdd %u32 {seven} {neg3}"), &[4]);
    s.truth(&format!("OpSLessThan %bool {neg} {zero}"), true);
    s.truth(&format!("OpULessThan %bool {neg} {zero}"), false);
    s.truth(&format!("OpSGreaterThanEqual %bool {zero} {zero}"), true);
    s.truth(&format!("OpUGreaterThan %bool {min} {one}"), true);
    s.truth(&format!("OpINotEqual %bool {min} {one}"), true);
    let (x, y) = (s.iv("v3u8", &[255, 1, 128]), s.iv("v3u8", &[1, 2, 128]));
    s.bits(&format!("OpIAdd %v3u8 {x} {y}"), &[0, 3, 0]);
    let (big, two) = (s.c("u64", 1 << 63), s.c("u64", 2));
    s.bits(&format!("OpIMul %u64 {big} {two}"), &[0]);
    s.run();
}

#[test]
fn floats() {
    let mut s = Shader::new();
    s.capability("Float16");
    s.capability("Float64");
    let (x, y) = (s.f("f32", 5.5), s.f("f32", -2.0));
    let (nan, inf, zero) = (s.f("f32", f64::NAN), s.f("f32", f64::INFINITY), s.f("f32", 0.0));
    s.exactly(&format!("OpFNegate %f32 {zero}"), &[-0.0]);
    s.exactly(&format!("OpFAdd %f32 {x} {y}"), &[3.5]);
    s.exactly(&format!("OpFSub %f32 {x} {y}"), &[7.5]);
    s.exactly(&format!("OpFMul %f32 {x} {y}"), &[-11.0]);
    s.exactly(&format!("OpFDiv %f32 {x} {y}"), &[-2.75]);
    s.exactly(&format!("OpFDiv %f32 {x} {zero}"), &[f64::INFINITY]);
    s.exactly(&format!("OpFRem %f32 {x} {y}"), &[1.5]);
    s.exactly(&format!("OpFMod %f32 {x} {y}"), &[-0.5]);
    s.truth(&format!("OpIsNan %bool {nan}"), true);
    s.truth(&format!("OpIsInf %bool {inf}"), true);
    s.truth(&format!("OpIsInf %bool {nan}"), false);
    s.truth(&format!("OpFOrdEqual %bool {nan} {nan}"), false);
    s.truth(&format!("OpFUnordEqual %bool {nan} {zero}"), true);
    s.truth(&format!("OpFOrdNotEqual %bool {nan} {zero}"), false);
    s.truth(&format!("OpFUnordNotEqual %bool {nan} {nan}"), true);
    s.truth(&format!("OpFOrdGreaterThan %bool {x} {y}"), true);
    s.truth(&format!("OpFUnordGreaterThan %bool {y} {x}"), false);
    s.truth(&format!("OpFUnordLessThanEqual %bool {nan} {x}"), true);
    s.truth(&format!("OpFOrdGreaterThanEqual %bool {inf} {inf}"), true);
    let (h, d) = (s.f("f16", 65504.0), s.f("f64", 1e300));
    s.exactly(&format!("OpFAdd %f16 {h} {h}"), &[f64::INFINITY]);
    s.exactly(&format!("OpFMul %f64 {d} {d}"), &[f64::INFINITY]);
    s.run();
}

#[test]
fn bits() {
    let mut s = Shader::new();
    s.capability("Int64");
    s.capability("Int16");
    let x = s.c("u32", 0x8000_00f1);
    let (n0, n4, n8, n32) = (s.c("u32", 0), s.c("u32", 4), s.c("u32", 8), s.c("u32", 32));
    let shift = s.c("u64", 4);
    s.bits(&format!("OpNot %u32 {x}"), &[0x7fff_ff0e]);
    s.bits(&format!("OpBitReverse %u32 {x}"), &[0x8f00_0001]);
    s.bits(&format!("OpBitCount %u32 {x}"), &[6]);
    s.bits(&format!("OpShiftLeftLogical %u32 {x} {shift}"), &[0xf10]);
    s.bits(&format!("OpShiftRightLogical %u32 {x} {n4}"), &[0x0800_000f]);
    s.bits(&format!("OpShiftRightArithmetic %u32 {x} {n4}"), &[0xf800_000f]);
    s.bits(&format!("OpBitFieldUExtract %u32 {x} {n4} {n4}"), &[0xf]);
    s.bits(&format!("OpBitFieldUExtract %u32 {x} {n0} {n32}"), &[0x8000_00f1]);
    s.bits(&format!("OpBitFieldUExtract %u32 {x} {n4} {n0}"), &[0]);
    s.bits(&format!("OpBitFieldSExtract %u32 {x} {n4} {n4}"), &[0xffff_ffff]);
    s.bits(&format!("OpBitFieldSExtract %u32 {x} {n0} {n32}"), &[0x8000_00f1]);
    s.bits(&format!("OpBitFieldSExtract %u32 {x} {n4} {n0}"), &[0]);
    s.bits(&format!("OpBitFieldSExtract %u32 {x} {n8} {n4}"), &[0]);
    s.bits(&format!("OpBitFieldInsert %u32 {x} {n8} {n4} {n8}"), &[0x8000_0081]);
    s.bits(&format!("OpBitFieldInsert %u32 {x} {n8} {n0} {n32}"), &[8]);
    s.bits(&format!("OpBitFieldInsert %u32 {x} {n8} {n32} {n0}"), &[0x8000_00f1]);
    let v = s.iv("v2u16", &[0xff00, 0x0ff0]);
    s.bits(&format!("OpBitFieldUExtract %v2u16 {v} {n8} {n4}"), &[0xf, 0xf]);
    let (w, six) = (s.c("i64", 0xfff0_0000_0000_0000), s.c("u32", 60));
    s.bits(&format!("OpBitFieldSExtract %i64 {w} {six} {n4}"), &[u64::MAX]);
    s.run();
}

#[test]
fn two_results() {
    let mut s = Shader::new();
    s.global("%u_pair = OpTypeStruct %u32 %u32");
    s.global("%v_pair = OpTypeStruct %v2i32 %v2i32");
    let (max, two, one) = (s.c("u32", 0xffff_ffff), s.c("u32", 2), s.c("u32", 1));
    let sum = s.op(&format!("OpIAddCarry %u_pair {max} {two}"));
    s.part(&sum, "0", "u32", 1);
    s.part(&sum, "1", "u32", 1);
    let difference = s.op(&format!("OpISubBorrow %u_pair {one} {two}"));
    s.part(&difference, "0", "u32", 0xffff_ffff);
    s.part(&difference, "1", "u32", 1);
    let product = s.op(&format!("OpUMulExtended %u_pair {max} {max}"));
    s.part(&product, "0", "u32", 1);
    s.part(&product, "1", "u32", 0xffff_fffe);
    let (x, y) = (s.iv("v2i32", &[0xffff_ffff, 0x8000_0000]), s.iv("v2i32", &[2, 4]));
    let product = s.op(&format!("OpSMulExtended %v_pair {x} {y}"));
    s.part(&product, "0 0", "i32", 0xffff_fffe);
    s.part(&product, "0 1", "i32", 0);
    s.part(&product, "1 0", "i32", 0xffff_ffff);
    s.part(&product, "1 1", "i32", 0xffff_fffe);
    s.run();
}

#[test]
fn truths() {
    let mut s = Shader::new();
    let (t, f) = (s.c("bool", 1), s.c("bool", 0));
    let mixed = s.composite("v3bool", &[t.clone(), f.clone(), t.clone()]);
    let all = s.composite("v3bool", &[t.clone(), t.clone(), t.clone()]);
    s.truth(&format!("OpAny %bool {mixed}"), true);
    s.truth(&format!("OpAll %bool {mixed}"), false);
    s.truth(&format!("OpAll %bool {all}"), true);
    s.truth(&format!("OpLogicalAnd %bool {t} {f}"), false);
    s.truth(&format!("OpLogicalOr %bool {t} {f}"), true);
    s.truth(&format!("OpLogicalEqual %bool {f} {f}"), true);
    s.truth(&format!("OpLogicalNotEqual %bool {f} {f}"), false);
    s.truth(&format!("OpLogicalNot %bool {f}"), true);
    let not = s.op(&format!("OpLogicalNot %v3bool {mixed}"));
    s.truth(&format!("OpAny %bool {not}"), true);
    s.run();
}

#[test]
fn algebra() {
    let mut s = Shader::new();
    let (x, y) = (s.fv("v3f32", &[1.0, 2.0, 3.0]), s.fv("v2f32", &[10.0, 100.0]));
    let two = s.f("f32", 2.0);
    s.exactly(&format!("OpDot %f32 {x} {x}"), &[14.0]);
    s.exactly(&format!("OpVectorTimesScalar %v3f32 {x} {two}"), &[2.0, 4.0, 6.0]);
    // Two columns of three rows: (1 2 3) and (4 5 6).
    let (c0, c1) = (x.clone(), s.fv("v3f32", &[4.0, 5.0, 6.0]));
    let m = s.composite("m2x3f32", &[c0, c1]);
    s.exactly(&format!("OpMatrixTimesVector %v3f32 {m} {y}"), &[410.0, 520.0, 630.0]);
    s.exactly(&format!("OpVectorTimesMatrix %v2f32 {x} {m}"), &[14.0, 32.0]);
    let scaled = s.op(&format!("OpMatrixTimesScalar %m2x3f32 {m} {two}"));
    s.part(&scaled, "1 2", "f32", 12_f32.to_bits().into());
    let t = s.op(&format!("OpTranspose %m3x2f32 {m}"));
    // The transpose times the matrix: 2 by 2, rows times columns.
    let square = s.op(&format!("OpMatrixTimesMatrix %m2x2f32 {t} {m}"));
    for (path, want) in [("0 0", 14_f32), ("0 1", 32.0), ("1 0", 32.0), ("1 1", 77.0)] {
        s.part(&square, path, "f32", want.to_bits().into());
    }
    let outer = s.op(&format!("OpOuterProduct %m2x3f32 {x} {y}"));
    s.part(&outer, "0 2", "f32", 30_f32.to_bits().into());
    s.part(&outer, "1 0", "f32", 100_f32.to_bits().into());
    s.run();
}

#[test]
fn bfloat16_dot() {
    let mut s = Shader::new();
    s.capability("BFloat16TypeKHR");
    s.capability("BFloat16DotProductKHR");
    let x = s.fv("v2bf16", &[256.0, 1.0]);
    let y = s.fv("v2bf16", &[1.0, 1.0]);
    // 257 lies between 256 and 258; the tie goes to the even one.
    s.exactly(&format!("OpDot %bf16 {x} {y}"), &[256.0]);
    s.run();
}

#[test]
fn refusals() {
    let case = |inst: &str| {
        let mut s = Shader::new();
        s.capability("BFloat16TypeKHR");
        s.global("%one = OpConstant %u32 1");
        s.global("%half = OpConstant %f32 0.5");
        s.global("%pair = OpConstantComposite %v2u32 %one %one");
        s.global("%b = OpConstant %bf16 0");
        s.op(inst);
        refused(&s)
    };
    let message = case("OpIAdd %u32 %one %half");
    assert!(message.contains("OpIAdd") && message.contains("expected an integer"), "{message}");
    assert!(case("OpIAdd %u32 %one %pair").contains("as many components"));
    assert!(case("OpFAdd %bf16 %b %b").contains("expected f16, f32 or f64"));
    assert!(case("OpIAdd %f32 %one %one").contains("the result type is f32"));
    assert!(case("OpFAdd %f32 %half %main").contains("%"));
    assert!(case("OpMatrixTimesVector %v2f32 %half %half").contains("expected a matrix"));
    assert!(case("OpDot %f32 %half %void").contains("%"));
}
