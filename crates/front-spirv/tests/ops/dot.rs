//! Integer dot products.

use crate::harness::{Shader, refused};

fn shader() -> Shader {
    let mut s = Shader::new();
    for capability in ["DotProduct", "DotProductInputAll", "DotProductInput4x8BitPacked", "Int8", "Int16"] {
        s.capability(capability);
    }
    s
}

#[test]
fn products() {
    let mut s = shader();
    let (x, y) = (s.iv("v4u8", &[0xff, 2, 0x80, 0]), s.iv("v4u8", &[1, 0xff, 0x80, 7]));
    // Signed: -1*1 + 2*-1 + -128*-128; unsigned: 255 + 510 + 16384; mixed: -1 + 510 - 16384.
    s.bits(&format!("OpSDot %i32 {x} {y}"), &[16381]);
    s.bits(&format!("OpUDot %u32 {x} {y}"), &[17149]);
    s.bits(&format!("OpSUDot %i32 {x} {y}"), &[-15875_i32 as u32 as u64]);
    s.bits(&format!("OpUDot %u8 {x} {y}"), &[17149 & 0xff]);
    let (p, q) = (s.c("u32", 0x0080_02ff), s.c("u32", 0x0780_ff01));
    s.bits(&format!("OpSDot %i32 {p} {q} PackedVectorFormat4x8Bit"), &[16381]);
    s.bits(&format!("OpUDot %u32 {p} {q} PackedVectorFormat4x8Bit"), &[17149]);
    let (acc, low) = (s.c("i32", 0x7fff_ffff), s.c("i32", 0x8000_0000));
    s.bits(&format!("OpSDotAccSat %i32 {x} {y} {acc}"), &[0x7fff_ffff]);
    s.bits(&format!("OpSUDotAccSat %i32 {x} {y} {low}"), &[0x8000_0000]);
    s.bits(&format!("OpSUDotAccSat %i32 {x} {y} {acc}"), &[0x7fff_ffff - 15875]);
    let top = s.c("u32", 0xffff_fff0);
    s.bits(&format!("OpUDotAccSat %u32 {p} {q} {top} PackedVectorFormat4x8Bit"), &[0xffff_ffff]);
    let words = s.iv("v2u16", &[0xffff, 1]);
    s.bits(&format!("OpSDot %i32 {words} {words}"), &[2]);
    s.run();
}

#[test]
fn refusals() {
    let case = |inst: &str| {
        let mut s = shader();
        s.global("%one = OpConstant %u32 1");
        s.global("%pair = OpConstantComposite %v2u32 %one %one");
        s.global("%three = OpConstantComposite %v3u32 %one %one %one");
        s.op(inst);
        refused(&s)
    };
    assert!(case("OpUDot %u32 %one %one").contains("packed vector format"));
    assert!(case("OpUDot %u32 %pair %three").contains("as many components"));
    assert!(case("OpUDot %u8 %pair %pair").contains("narrower"));
}
