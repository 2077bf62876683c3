//! Cooperative matrices.

use crate::harness::{Shader, refused};

/// A shader of a full subgroup with the constants that matrix types need.
fn shader() -> Shader {
    let mut s = Shader::with_lanes(32, 32);
    for capability in ["CooperativeMatrixKHR", "CooperativeMatrixNV", "Int8", "Float16", "Int16"] {
        s.capability(capability);
    }
    s.global("%scope = OpConstant %u32 3");
    for n in 0..9 {
        s.global(&format!("%n{n} = OpConstant %u32 {n}"));
    }
    s
}

/// Declares a KHR matrix type.
fn mat(s: &mut Shader, name: &str, elem: &str, rows: u32, cols: u32, use_: u32) {
    s.global(&format!("%{name} = OpTypeCooperativeMatrixKHR %{elem} %scope %n{rows} %n{cols} %n{use_}"));
}

/// A pointer to word `i` of the data buffer.
fn word(s: &mut Shader, i: u64) -> String {
    let i = s.c("u32", i);
    s.op(&format!("OpAccessChain %ptr_data %data %n0 {i}"))
}

fn floats(words: &[u32]) -> Vec<f32> {
    words.iter().map(|w| f32::from_bits(*w)).collect()
}

/// D = A * B + C for A of 2 by 3, B of 3 by 2 in column-major order, C a splat.
#[test]
fn multiply() {
    let mut s = shader();
    let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0f32];
    values.iter().enumerate().for_each(|(i, x)| s.data[i] = x.to_bits());
    mat(&mut s, "a", "f32", 2, 3, 0);
    mat(&mut s, "b", "f32", 3, 2, 1);
    mat(&mut s, "c", "f32", 2, 2, 2);
    let half = s.f("f32", 0.5);
    let splat = s.composite_of("c", &half);
    let (pa, pb, pd, pt) = (word(&mut s, 0), word(&mut s, 6), word(&mut s, 16), word(&mut s, 24));
    let a =
        s.op(&format!("OpCooperativeMatrixLoadKHR %a {pa} %n0 %n3 MakePointerVisible|NonPrivatePointer %n5"));
    let b = s.op(&format!("OpCooperativeMatrixLoadKHR %b {pb} %n1 %n3 Volatile|Aligned 16"));
    let d = s.op(&format!("OpCooperativeMatrixMulAddKHR %c {a} {b} {splat}"));
    s.line(&format!("OpCooperativeMatrixStoreKHR {pd} {d} %n0 %n2 Aligned|Nontemporal 4"));
    // The same, transposed and with gaps.
    s.line(&format!("OpCooperativeMatrixStoreKHR {pt} {d} %n1 %n4"));
    let data = s.run();
    assert_eq!(floats(&data[16..20]), [50.5, 68.5, 122.5, 167.5]);
    assert_eq!(floats(&data[24..30]), [50.5, 122.5, 0.0, 0.0, 68.5, 167.5]);
}

/// Strides count what the pointer points to; the layout and shape may be specialisation constants,
/// and stride 0 repeats a row.
#[test]
fn strides() {
    let mut s = shader();
    s.data[0] = 0x0403_0201;
    s.data[2] = 0x0807_0605;
    s.global("%row_major = OpSpecConstant %u32 0");
    s.global("%rows = OpSpecConstant %u32 2");
    s.global("%bytes = OpTypeCooperativeMatrixKHR %u8 %scope %rows %n4 %n0");
    let p = word(&mut s, 0);
    let m = s.op(&format!("OpCooperativeMatrixLoadKHR %bytes {p} %row_major %n2"));
    let out = word(&mut s, 8);
    s.line(&format!("OpCooperativeMatrixStoreKHR {out} {m} %row_major %n1"));
    let dynamic = s.op("OpISub %u32 %lane %lane");
    let m = s.op(&format!("OpCooperativeMatrixLoadKHR %bytes {p} %row_major {dynamic}"));
    let out = word(&mut s, 12);
    s.line(&format!("OpCooperativeMatrixStoreKHR {out} {m} %row_major %n1"));
    let data = s.run();
    assert_eq!(data[8..10], [0x0403_0201, 0x0807_0605]);
    assert_eq!(data[12..14], [0x0403_0201, 0x0403_0201]);
}

/// Signs come from the mask in the KHR form, whatever the types say, and from the types in NV's.
#[test]
fn signs() {
    let mut s = shader();
    s.data[0] = 0xff;
    mat(&mut s, "a", "u8", 1, 1, 0);
    mat(&mut s, "b", "i8", 1, 1, 1);
    mat(&mut s, "c", "i32", 1, 1, 2);
    let zero = s.c("i32", 0);
    let zero = s.composite_of("c", &zero);
    let p = word(&mut s, 0);
    let a = s.op(&format!("OpCooperativeMatrixLoadKHR %a {p} %n0 %n1"));
    let b = s.op(&format!("OpCooperativeMatrixLoadKHR %b {p} %n0 %n1"));
    let mut case = |flags: &str, i: u64| {
        let d = s.op(&format!("OpCooperativeMatrixMulAddKHR %c {a} {b} {zero} {flags}"));
        let out = word(&mut s, i);
        s.line(&format!("OpCooperativeMatrixStoreKHR {out} {d} %n0 %n1"));
    };
    case("", 1);
    case("MatrixASignedComponentsKHR", 2);
    case("MatrixASignedComponentsKHR|MatrixBSignedComponentsKHR", 3);
    s.global("%na = OpTypeCooperativeMatrixNV %u8 %scope %n1 %n1");
    s.global("%nb = OpTypeCooperativeMatrixNV %i8 %scope %n1 %n1");
    s.global("%nc = OpTypeCooperativeMatrixNV %i32 %scope %n1 %n1");
    s.global("%false = OpConstantFalse %bool");
    s.global("%null = OpConstantNull %nc");
    let a = s.op(&format!("OpCooperativeMatrixLoadNV %na {p} %n1 %false"));
    let b = s.op(&format!("OpCooperativeMatrixLoadNV %nb {p} %n1 %false"));
    let d = s.op(&format!("OpCooperativeMatrixMulAddNV %nc {a} {b} %null"));
    let out = word(&mut s, 4);
    s.line(&format!("OpCooperativeMatrixStoreNV {out} {d} %n1 %false None"));
    let data = s.run();
    assert_eq!(data[1..5], [255 * 255, -255_i32 as u32, 1, -255_i32 as u32]);
}

#[test]
fn elements() {
    let mut s = shader();
    mat(&mut s, "f", "f32", 4, 8, 2);
    mat(&mut s, "h", "f16", 4, 8, 2);
    mat(&mut s, "i", "i32", 4, 8, 2);
    let x = s.op("OpConvertUToF %f32 %lane");
    let two = s.f("f32", 2.0);
    // The splat takes each invocation's own scalar.
    let m = s.op(&format!("OpCompositeConstruct %f {x}"));
    s.lanes(&format!("OpCompositeExtract %f32 {m} 0"), |lane| (lane as f32).to_bits().into());
    let sum = s.op(&format!("OpFAdd %f {m} {m}"));
    let product = s.op(&format!("OpFMul %f {sum} {m}"));
    let scaled = s.op(&format!("OpMatrixTimesScalar %f {product} {two}"));
    let negated = s.op(&format!("OpFNegate %f {scaled}"));
    let halved = s.op(&format!("OpFDiv %f {negated} {sum}"));
    let integers = s.op(&format!("OpConvertFToS %i {scaled}"));
    let narrow = s.op(&format!("OpFConvert %h {m}"));
    let cast = s.op(&format!("OpBitcast %i {m}"));
    s.lanes(&format!("OpCompositeExtract %f32 {negated} 0"), |lane| {
        (-4.0 * (lane * lane) as f32).to_bits().into()
    });
    s.lanes(&format!("OpCompositeExtract %i32 {integers} 0"), |lane| 4 * lane * lane);
    s.lanes(&format!("OpCompositeExtract %i32 {cast} 0"), |lane| (lane as f32).to_bits().into());
    let half = s.op(&format!("OpCompositeExtract %f16 {narrow} 0"));
    s.lanes(&format!("OpFConvert %f32 {half}"), |lane| (lane as f32).to_bits().into());
    let changed = s.op(&format!("OpCompositeInsert %f {two} {halved} 0"));
    s.lanes(&format!("OpCompositeExtract %f32 {changed} 0"), |_| 2f32.to_bits().into());
    s.lanes("OpCooperativeMatrixLengthKHR %u32 %f", |_| 1);
    s.global("%length = OpSpecConstantOp %u32 CooperativeMatrixLengthKHR %f");
    s.lanes("OpIAdd %u32 %length %n1", |_| 2);
    s.run();
}

#[test]
fn refusals() {
    let case = |line: &str| {
        let mut s = shader();
        mat(&mut s, "a", "f32", 2, 3, 0);
        mat(&mut s, "b", "f32", 3, 2, 1);
        mat(&mut s, "c", "f32", 2, 2, 2);
        mat(&mut s, "i", "i32", 2, 2, 2);
        for m in ["a", "b", "c", "i"] {
            s.global(&format!("%zero_{m} = OpConstantNull %{m}"));
        }
        s.line("%p = OpAccessChain %ptr_data %data %n0 %n0");
        s.line(line);
        refused(&s)
    };
    assert!(case("%x = OpCooperativeMatrixLoadKHR %a %p %n0").contains("Stride"));
    assert!(case("%x = OpCooperativeMatrixLoadKHR %a %p %n5 %n3").contains("layout 5"));
    assert!(case("%x = OpCooperativeMatrixLoadKHR %a %p %lane %n3").contains("must be a constant"));
    assert!(
        case("%x = OpCooperativeMatrixLoadKHR %u32 %p %n0 %n3").contains("expected a cooperative matrix")
    );
    assert!(case("%x = OpCooperativeMatrixLoadKHR %a %data %n0 %n3").contains("points to structure"));
    assert!(case("%x = OpCooperativeMatrixMulAddKHR %c %zero_b %zero_a %zero_c").contains("A is"));
    assert!(case("%x = OpCooperativeMatrixMulAddKHR %c %zero_a %zero_b %zero_i").contains("do not mix"));
    assert!(case("%x = OpFAdd %c %zero_c %zero_a").contains("one type"));
    assert!(case("%x = OpFMod %c %zero_c %zero_c").contains("does not accept"));
    assert!(case("%x = OpConvertFToS %i %zero_a").contains("scope and shape"));
    assert!(case("%x = OpCooperativeMatrixLengthKHR %u32 %u32").contains("expected a cooperative matrix"));
}
