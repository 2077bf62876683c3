//! Tests of the loader with objects that LLVM makes.

use super::*;
use crate::testing::{object_for, object_from_ir};

const ADD: &str = "define i32 @add(i32 %a, i32 %b) nounwind { %r = add i32 %a, %b ret i32 %r }";

fn load(object: &[u8], entry: &str) -> Result<Code, JitError> {
    Code::load(&Arc::default(), object, entry)
}

#[test]
fn runs_loaded_code() {
    let code = load(&object_from_ir(ADD), "add").unwrap();
    // SAFETY: the object defines `add` with this signature, and `code` is still alive.
    let add: extern "C" fn(i32, i32) -> i32 = unsafe { std::mem::transmute(code.entry()) };
    assert_eq!(add(40, 2), 42);
}

#[test]
fn provides_the_memory_functions() {
    let text = "declare ptr @memset(ptr, i32, i64)
        define void @fill(ptr %p, i64 %n) nounwind { %r = call ptr @memset(ptr %p, i32 7, i64 %n) ret void }";
    let code = load(&object_from_ir(text), "fill").unwrap();
    // SAFETY: as above.
    let fill: extern "C" fn(*mut u8, u64) = unsafe { std::mem::transmute(code.entry()) };
    let mut bytes = [0_u8; 100];
    fill(bytes.as_mut_ptr(), 100);
    assert_eq!(bytes, [7; 100]);
}

/// Constants in sections of their own, tables of addresses and of distances, functions that call each
/// other, and one of the process whose address is taken.
const PARTS: &str = "
    declare ptr @memcpy(ptr, ptr, i64)
    @numbers = internal constant [4 x i32] [i32 10, i32 20, i32 30, i32 40], align 16
    @pointers = internal constant [3 x ptr] [ptr @twice, ptr @thrice, ptr @twice]
    define internal i32 @twice(i32 %x) noinline nounwind { %r = mul i32 %x, 2 ret i32 %r }
    define i32 @thrice(i32 %x) noinline nounwind { %r = mul i32 %x, 3 ret i32 %r }
    define i32 @run(i32 %i) nounwind {
      %c = alloca [4 x i32], align 16
      %copy = load volatile ptr, ptr @copy
      call ptr %copy(ptr %c, ptr @numbers, i64 16)
      %p = getelementptr i32, ptr %c, i32 %i
      %n = load i32, ptr %p
      %q = getelementptr ptr, ptr @pointers, i32 %i
      %f = load ptr, ptr %q
      %a = call i32 %f(i32 %n)
      %b = call i32 @twice(i32 %a)
      switch i32 %i, label %other [ i32 0, label %l0 i32 1, label %l1 i32 2, label %l2 i32 3, label %l3 i32 4, label %l4 i32 5, label %l5 ]
    l0: %r0 = call i32 @thrice(i32 %b) ret i32 %r0
    l1: %r1 = add i32 %b, 1000 ret i32 %r1
    l2: %r2 = xor i32 %b, 255 ret i32 %r2
    l3: %r3 = sub i32 %b, 7 ret i32 %r3
    l4: %r4 = udiv i32 %b, 3 ret i32 %r4
    l5: %r5 = shl i32 %b, 3 ret i32 %r5
    other: ret i32 -1
    }
    @copy = internal constant ptr @memcpy";

#[test]
fn parts_find_each_other() {
    let code = load(&object_from_ir(PARTS), "run").unwrap();
    // SAFETY: the object defines `run` with this signature, and `code` is still alive.
    let run: extern "C" fn(i32) -> i32 = unsafe { std::mem::transmute(code.entry()) };
    assert_eq!([0, 1, 2].map(|i| run(i)), [10 * 2 * 2 * 3, 20 * 3 * 2 + 1000, (30 * 2 * 2) ^ 255]);
}

#[test]
fn refuses_by_name_what_it_does_not_have() {
    let refused = [
        ("declare void @system(ptr) define void @f() { call void @system(ptr null) ret void }", "`system`"),
        ("@x = global i32 7 define void @f() { store i32 1, ptr @x ret void }", "`.data`"),
        ("@x = global i32 0 define void @f() { store i32 1, ptr @x ret void }", "`.bss`"),
        ("@x = thread_local global i32 7 define void @f() { store i32 1, ptr @x ret void }", "thread-local"),
        ("@x = external global i32 define i32 @f() { %r = load i32, ptr @x ret i32 %r }", "`x`"),
        ("define void @g() { ret void }", "`f`"),
    ];
    for (text, named) in refused {
        let error = load(&object_from_ir(text), "f").unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
    }
    assert!(load(&object_from_ir(ADD), "nul\0inside").is_err());
}

#[test]
fn refuses_what_is_no_object_of_this_machine() {
    for bytes in [&b""[..], b"not an object", &[0x7f, b'E', b'L', b'F', 2, 1, 1, 0]] {
        assert!(load(bytes, "add").is_err(), "{bytes:?}");
    }
    let other = if cfg!(target_arch = "aarch64") { "x86_64-linux-gnu" } else { "aarch64-linux-gnu" };
    let error = load(&object_for(other, ADD), "add").unwrap_err();
    assert!(matches!(error, JitError::Unsupported(_)), "{error}");
}

#[test]
fn damaged_objects_are_errors_or_harmless() {
    for (text, entry) in [(ADD, "add"), (PARTS, "run")] {
        let object = object_from_ir(text);
        for length in 0..object.len() {
            assert!(load(&object[..length], entry).is_err(), "{length}");
        }
        for index in 0..object.len() {
            for value in [0, 0x7f, 0xff, object[index] ^ 1, object[index] ^ 0x80] {
                let mut damaged = object.clone();
                damaged[index] = value;
                let _any = load(&damaged, entry);
            }
        }
    }
}

/// What the loader makes of an object for AArch64, at an address.
fn arm_image(text: &str, entry: &str, base: u64) -> object::Image {
    let mut image = object::read(&object_for("aarch64-linux-gnu", text), entry).unwrap();
    let links = relocate::Links::add_to(&mut image);
    relocate::relocate(&mut image, &links, base).unwrap();
    image
}

#[test]
fn branches_of_arm_go_through_links() {
    let text = "declare ptr @memset(ptr, i32, i64)
        define void @f(ptr %p) nounwind { %r = call ptr @memset(ptr %p, i32 7, i64 100) ret void }";
    let base = 0x1234_5678_9000;
    let image = arm_image(text, "f", base);
    let word = |at: usize| u32::from_le_bytes(image.bytes[at..at + 4].try_into().unwrap());
    let branch = (0..image.bytes.len()).step_by(4).find(|at| word(*at) >> 26 == 0b10_0101).expect("a call");
    let link = branch + 4 * (word(branch) & 0x03ff_ffff) as usize;
    assert_eq!((word(link), word(link + 4)), (0x5800_0050, 0xd61f_0200), "ldr x16, #8; br x16");
    let address = u64::from_le_bytes(image.bytes[link + 8..link + 16].try_into().unwrap());
    assert_eq!(Some(address), symbols::address("memset"));
}

#[test]
fn addresses_of_arm_are_put_together() {
    let text = "@a = internal constant [4 x i64] [i64 1, i64 2, i64 3, i64 1234605616436508552], align 16
        define i64 @f() nounwind { %p = getelementptr i64, ptr @a, i32 3 %v = load volatile i64, ptr %p ret i64 %v }";
    for base in [0x10_0000, 0xffff_8765_4321_f000] {
        let image = arm_image(text, "f", base);
        let word = |at: usize| u32::from_le_bytes(image.bytes[at..at + 4].try_into().unwrap());
        let adrp = (0..image.bytes.len()).step_by(4).find(|at| word(*at) & 0x9f00_0000 == 0x9000_0000);
        let adrp = adrp.expect("an instruction that finds the page");
        let pages =
            i64::from((((word(adrp) >> 5 & 0x7_ffff) << 2 | word(adrp) >> 29 & 3) << 11).cast_signed() >> 11);
        let page = ((base + adrp as u64) >> 12).wrapping_add_signed(pages) << 12;
        // Either `add` and an access behind it, or the offset in the access itself, in units of 8.
        let next = word(adrp + 4);
        let low = match next >> 22 {
            0b10_0100_0100 => u64::from(next >> 10 & 0xfff) + 8 * u64::from(word(adrp + 8) >> 10 & 0xfff),
            _ => 8 * u64::from(next >> 10 & 0xfff),
        };
        let offset = (page + low).wrapping_sub(base) as usize;
        assert_eq!(image.bytes[offset..offset + 8], 0x1122_3344_5566_7788_u64.to_le_bytes());
    }
}

#[test]
fn code_costs_a_page_and_no_mapping() {
    let object = object_from_ir(ADD);
    let arena = Arc::<Arena>::default();
    let mappings = || std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count());
    let before = mappings();
    let start = std::time::Instant::now();
    let all: Vec<_> = (0..20_000).map(|_| Code::load(&arena, &object, "add").unwrap()).collect();
    let (took, more) = (start.elapsed() / 20_000, mappings().saturating_sub(before));
    println!("{took:?} for a piece of code, {more} mappings for all 20000");
    assert!(more < 500, "{more} mappings");
    // SAFETY: the object defines `add` with this signature, and `all` is still alive.
    let add: extern "C" fn(i32, i32) -> i32 = unsafe { std::mem::transmute(all[19_999].entry()) };
    assert_eq!(add(1, 2), 3);
}
