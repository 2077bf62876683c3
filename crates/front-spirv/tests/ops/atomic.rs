//! Atomic operations, barriers and the clock.

use crate::harness::{Shader, refused};

/// A shader with pointers `%p0`, `%p1`… to words of the data buffer, and constants for scope and
/// semantics.
fn shader(lanes: u32, pointers: u32) -> Shader {
    let mut s = Shader::with_lanes(lanes, 8);
    s.global("%device = OpConstant %u32 1");
    s.global("%workgroup = OpConstant %u32 2");
    s.global("%relaxed = OpConstant %u32 0");
    s.global("%acq_rel = OpConstant %u32 72");
    s.capability("VulkanMemoryModelDeviceScope");
    let zero = s.c("u32", 0);
    for i in 0..pointers {
        let index = s.c("u32", i.into());
        s.line(&format!("%p{i} = OpAccessChain %ptr_data %data {zero} {index}"));
    }
    s
}

#[test]
fn integers() {
    let mut s = shader(1, 12);
    s.data[0] = 10;
    s.data[9] = 5;
    let (three, neg, ten) = (s.c("u32", 3), s.c("u32", 0xffff_ffff), s.c("u32", 10));
    let relaxed = |op: &str, p: u32| format!("{op} %u32 %p{p} %device %relaxed");
    s.bits(&relaxed("OpAtomicLoad", 0), &[10]);
    s.bits(&format!("{} {three}", relaxed("OpAtomicIAdd", 0)), &[10]);
    s.bits(&format!("{} {three}", relaxed("OpAtomicISub", 1)), &[0]);
    s.bits(&relaxed("OpAtomicIIncrement", 2), &[0]);
    s.bits(&relaxed("OpAtomicIDecrement", 3), &[0]);
    s.bits(&format!("{} {neg}", relaxed("OpAtomicSMin", 4)), &[0]);
    s.bits(&format!("{} {neg}", relaxed("OpAtomicSMax", 5)), &[0]);
    s.bits(&format!("{} {neg}", relaxed("OpAtomicUMin", 6)), &[0]);
    s.bits(&format!("{} {neg}", relaxed("OpAtomicUMax", 7)), &[0]);
    s.line(&format!("OpAtomicStore %p8 %device %acq_rel {three}"));
    s.bits(&format!("{} {ten}", relaxed("OpAtomicExchange", 9)), &[5]);
    let swap = "OpAtomicCompareExchange %u32";
    s.bits(&format!("{swap} %p9 %device %acq_rel %relaxed {three} {ten}"), &[10]);
    s.bits(&format!("{swap} %p9 %device %acq_rel %relaxed {neg} {ten}"), &[3]);
    s.bits(&format!("{} {neg}", relaxed("OpAtomicXor", 10)), &[0]);
    s.bits(&format!("{} {ten}", relaxed("OpAtomicAnd", 10)), &[0xffff_ffff]);
    s.bits(&format!("{} {three}", relaxed("OpAtomicOr", 10)), &[10]);
    let data = s.run();
    assert_eq!(data[..11], [13, -3_i32 as u32, 1, u32::MAX, u32::MAX, 0, 0, u32::MAX, 3, 3, 11]);
}

#[test]
fn floats_and_wide() {
    let mut s = shader(8, 0);
    for capability in [
        "Int64",
        "Int64Atomics",
        "Float64",
        "AtomicFloat32AddEXT",
        "AtomicFloat32MinMaxEXT",
        "AtomicFloat64AddEXT",
    ] {
        s.capability(capability);
    }
    // Views of the buffer at binding 0.
    for ty in ["f32", "f64", "u64"] {
        let stride = if ty == "f32" { 4 } else { 8 };
        s.annotations += &format!(
            "OpDecorate %view_{ty} DescriptorSet 0\nOpDecorate %view_{ty} Binding 0\n\
             OpDecorate %view_struct_{ty} Block\nOpMemberDecorate %view_struct_{ty} 0 Offset 0\n\
             OpDecorate %view_array_{ty} ArrayStride {stride}\n"
        );
        s.global(&format!("%view_array_{ty} = OpTypeRuntimeArray %{ty}"));
        s.global(&format!("%view_struct_{ty} = OpTypeStruct %view_array_{ty}"));
        s.global(&format!("%ptr_view_struct_{ty} = OpTypePointer StorageBuffer %view_struct_{ty}"));
        s.global(&format!("%ptr_view_{ty} = OpTypePointer StorageBuffer %{ty}"));
        s.global(&format!("%view_{ty} = OpVariable %ptr_view_struct_{ty} StorageBuffer"));
    }
    let zero = s.c("u32", 0);
    let at = |s: &mut Shader, ty: &str, index: u64| {
        let index = s.c("u32", index);
        s.op(&format!("OpAccessChain %ptr_view_{ty} %view_{ty} {zero} {index}"))
    };
    let (half, x) = (s.f("f32", 0.5), s.op("OpConvertUToF %f32 %lane"));
    let p = at(&mut s, "f32", 0);
    s.op(&format!("OpAtomicFAddEXT %f32 {p} %device %relaxed {half}"));
    let p = at(&mut s, "f32", 1);
    s.op(&format!("OpAtomicFMaxEXT %f32 {p} %device %relaxed {x}"));
    let negative = s.op(&format!("OpFNegate %f32 {x}"));
    let p = at(&mut s, "f32", 2);
    s.op(&format!("OpAtomicFMinEXT %f32 {p} %device %relaxed {negative}"));
    let p = at(&mut s, "f64", 2);
    let quarter = s.f("f64", 0.25);
    s.op(&format!("OpAtomicFAddEXT %f64 {p} %device %relaxed {quarter}"));
    let p = at(&mut s, "u64", 3);
    let big = s.c("u64", 1 << 33);
    s.op(&format!("OpAtomicIAdd %u64 {p} %device %acq_rel {big}"));
    let data = s.run();
    assert_eq!(data[..3], [4f32.to_bits(), 7f32.to_bits(), (-7f32).to_bits()]);
    assert_eq!(data[4..8], [0, 0x4000_0000, 0, 16]);
}

/// Sixteen invocations in two subgroups: each writes its word of shared memory, waits, and reads
/// that of its mirror image.
#[test]
fn barriers() {
    let mut s = shader(16, 0);
    let n = s.c("u32", 16);
    s.global(&format!("%shared_array = OpTypeArray %u32 {n}"));
    s.global("%ptr_shared_array = OpTypePointer Workgroup %shared_array");
    s.global("%ptr_shared = OpTypePointer Workgroup %u32");
    s.global("%shared = OpVariable %ptr_shared_array Workgroup");
    s.global("%subgroup = OpConstant %u32 3");
    s.global("%workgroup_acq_rel = OpConstant %u32 264");
    let mine = s.op("OpAccessChain %ptr_shared %shared %lane");
    s.line(&format!("OpStore {mine} %lane"));
    s.line("OpMemoryBarrier %workgroup %workgroup_acq_rel");
    s.line("OpControlBarrier %workgroup %workgroup %workgroup_acq_rel");
    s.line("OpControlBarrier %subgroup %subgroup %relaxed");
    let fifteen = s.c("u32", 15);
    let mirror = s.op(&format!("OpISub %u32 {fifteen} %lane"));
    let p = s.op(&format!("OpAccessChain %ptr_shared %shared {mirror}"));
    s.lanes(&format!("OpLoad %u32 {p}"), |lane| 15 - lane);
    s.run();
}

#[test]
fn clock() {
    let mut s = shader(1, 0);
    s.capability("ShaderClockKHR");
    s.capability("Int64");
    s.global("%subgroup = OpConstant %u32 3");
    let first = s.op("OpReadClockKHR %u64 %subgroup");
    let second = s.op("OpReadClockKHR %u64 %subgroup");
    s.truth(&format!("OpULessThanEqual %bool {first} {second}"), true);
    s.op("OpReadClockKHR %v2u32 %subgroup");
    s.run();
}

#[test]
fn refusals() {
    let case = |inst: &str| {
        let mut s = shader(1, 1);
        s.global("%one = OpConstant %u32 1");
        s.global("%half = OpConstant %f32 0.5");
        s.line(inst);
        refused(&s)
    };
    assert!(case("%x = OpAtomicIAdd %u32 %p0 %device %relaxed %half").contains("expected i32"));
    assert!(case("%x = OpAtomicFAddEXT %f32 %p0 %device %relaxed %half").contains("points to u32"));
    assert!(case("%x = OpAtomicIAdd %u32 %one %device %relaxed %one").contains("expected a pointer"));
    assert!(case("%x = OpAtomicIAdd %u32 %p0 %device %lane %one").contains("must be a constant"));
    assert!(case("OpControlBarrier %device %device %acq_rel").contains("wider than a work-group"));
    let mut s = shader(1, 1);
    s.annotations += "OpDecorate %data NonWritable\n";
    let one = s.c("u32", 1);
    s.op(&format!("OpAtomicIAdd %u32 %p0 %device %relaxed {one}"));
    assert!(refused(&s).contains("not writable"));
}
