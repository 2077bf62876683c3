//! Conversions and casts.

use crate::harness::{DATA_ADDRESS, Shader, refused};

#[test]
fn numbers() {
    let mut s = Shader::new();
    for capability in ["Int8", "Int16", "Int64", "Float16", "Float64"] {
        s.capability(capability);
    }
    let (neg, big) = (s.f("f32", -2.75), s.f("f32", 1e10));
    let nan = s.f("f32", f64::NAN);
    s.bits(&format!("OpConvertFToS %i32 {neg}"), &[-2_i32 as u32 as u64]);
    s.bits(&format!("OpConvertFToU %u32 {big}"), &[0xffff_ffff]);
    s.bits(&format!("OpConvertFToS %i32 {nan}"), &[0]);
    s.bits(&format!("OpConvertFToS %i8 {big}"), &[0x7f]);
    let bytes = s.iv("v2u8", &[0x80, 0x7f]);
    s.bits(&format!("OpSConvert %v2i32 {bytes}"), &[0xffff_ff80, 0x7f]);
    s.bits(&format!("OpUConvert %v2u64 {bytes}"), &[0x80, 0x7f]);
    s.exactly(&format!("OpConvertSToF %v2f32 {bytes}"), &[-128.0, 127.0]);
    s.exactly(&format!("OpConvertUToF %v2f16 {bytes}"), &[128.0, 127.0]);
    let wide = s.c("u64", 0x1_2345_6789);
    s.bits(&format!("OpUConvert %u16 {wide}"), &[0x6789]);
    let third = s.f("f64", 1.0 / 3.0);
    s.exactly(&format!("OpFConvert %f32 {third}"), &[(1.0_f64 / 3.0) as f32 as f64]);
    s.exactly(&format!("OpFConvert %f16 {big}"), &[f64::INFINITY]);
    s.run();
}

#[test]
fn rounding_and_saturation() {
    let mut s = Shader::new();
    for capability in ["Float16", "BFloat16TypeKHR", "Float8EXT"] {
        s.capability(capability);
    }
    let x = s.f("f32", 2049.9);
    s.line(&format!("%nearest = OpFConvert %f16 {x}"));
    s.line(&format!("%toward_zero = OpFConvert %f16 {x}"));
    s.annotations += "OpDecorate %nearest FPRoundingMode RTE\n";
    s.annotations += "OpDecorate %toward_zero FPRoundingMode RTZ\n";
    s.exactly("OpCopyObject %f16 %nearest", &[2050.0]);
    s.exactly("OpCopyObject %f16 %toward_zero", &[2048.0]);
    let y = s.f("f32", 1000.0);
    s.line(&format!("%overflows = OpFConvert %e4m3 {y}"));
    s.line(&format!("%saturates = OpFConvert %e4m3 {y}"));
    s.annotations += "OpDecorate %saturates SaturatedToLargestFloat8NormalConversionEXT\n";
    s.bits("OpCopyObject %e4m3 %overflows", &[0x7f]);
    s.exactly("OpCopyObject %e4m3 %saturates", &[448.0]);
    s.exactly(&format!("OpFConvert %bf16 {y}"), &[1000.0]);
    s.exactly(&format!("OpFConvert %e5m2 {y}"), &[1024.0]);
    // Quantised: 2^-15 is below the least normal number of binary16.
    let (small, negative, odd) = (s.f("f32", 2f64.powi(-15)), s.f("f32", -1e-6), s.f("f32", 1.0001));
    s.exactly(&format!("OpQuantizeToF16 %f32 {small}"), &[0.0]);
    s.exactly(&format!("OpQuantizeToF16 %f32 {negative}"), &[-0.0]);
    s.exactly(&format!("OpQuantizeToF16 %f32 {odd}"), &[1.0]);
    s.run();
}

#[test]
fn bits() {
    let mut s = Shader::new();
    for capability in ["Int8", "Int16", "Int64", "Float16", "Float64"] {
        s.capability(capability);
    }
    let one = s.f("f32", 1.0);
    s.bits(&format!("OpBitcast %u32 {one}"), &[0x3f80_0000]);
    s.bits(&format!("OpBitcast %v2u16 {one}"), &[0, 0x3f80]);
    s.bits(&format!("OpBitcast %v4u8 {one}"), &[0, 0, 0x80, 0x3f]);
    let words = s.iv("v2u32", &[0x89ab_cdef, 0x0123_4567]);
    s.bits(&format!("OpBitcast %u64 {words}"), &[0x0123_4567_89ab_cdef]);
    s.bits(&format!("OpBitcast %v4f16 {words}"), &[0xcdef, 0x89ab, 0x4567, 0x0123]);
    s.bits(&format!("OpBitcast %f64 {words}"), &[0x0123_4567_89ab_cdef]);
    let halves = s.fv("v4f16", &[1.0, 2.0, 0.0, -0.0]);
    s.bits(&format!("OpBitcast %v2i32 {halves}"), &[0x4000_3c00, 0x8000_0000]);
    s.run();
}

/// Addresses as integers and pairs of words, there and back.
#[test]
fn pointers() {
    let mut s = Shader::new();
    s.capability("Int64");
    s.capability("PhysicalStorageBufferAddresses");
    s.addressing = "PhysicalStorageBuffer64";
    s.data[2] = 42;
    s.global("%ptr_u32 = OpTypePointer PhysicalStorageBuffer %u32");
    s.global("%ptr_f32 = OpTypePointer PhysicalStorageBuffer %f32");
    let address = DATA_ADDRESS + 8;
    let number = s.c("u64", address);
    let pair = s.iv("v2u32", &[address & 0xffff_ffff, address >> 32]);
    let p = s.op(&format!("OpConvertUToPtr %ptr_u32 {number}"));
    s.bits(&format!("OpLoad %u32 {p} Aligned 4"), &[42]);
    let q = s.op(&format!("OpBitcast %ptr_u32 {pair}"));
    s.bits(&format!("OpLoad %u32 {q} Aligned 4"), &[42]);
    let f = s.op(&format!("OpBitcast %ptr_f32 {q}"));
    s.bits(&format!("OpLoad %f32 {f} Aligned 4"), &[42]);
    s.bits(&format!("OpBitcast %v2u32 {p}"), &[address & 0xffff_ffff, address >> 32]);
    s.bits(&format!("OpConvertPtrToU %u64 {f}"), &[address]);
    s.run();
}

#[test]
fn refusals() {
    let case = |inst: &str| {
        let mut s = Shader::new();
        s.capability("Int64");
        s.global("%one = OpConstant %u32 1");
        s.global("%three = OpConstantComposite %v3u32 %one %one %one");
        s.line(inst);
        refused(&s)
    };
    assert!(case("%x = OpConvertFToS %i32 %one").contains("expected a float"));
    assert!(case("%x = OpConvertSToF %i32 %one").contains("the result type is s32, expected a float"));
    assert!(case("%x = OpBitcast %u64 %three").contains("no whole number"));
    assert!(case("%x = OpBitcast %u32 %three").contains("components"));
    assert!(case("%x = OpBitcast %f32 %data").contains("expected"));
}
