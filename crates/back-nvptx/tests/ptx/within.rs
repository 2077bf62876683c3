//! Blocks of loops whose accesses are looked at together.

use crate::{kernel, module, ptx};
use phalanx_back_nvptx::{Arch, compile_with_llvm};

/// A loop over the elements of a buffer with something in it.
fn rounds(body: &str) -> String {
    let source = kernel(&format!(
        "%one: i32 = const 1\n%n: i32 = load %in\nvar_store<$k> %z\n\
         loop @0 {{\n%k: i32 = var_load<$k>\n%more: bool = ult %k, %n\nif %more {{\n{body}\n\
         %next: i32 = iadd %k, %one\nvar_store<$k> %next\nbr @0\n}} else {{\n}}\n}}"
    ));
    source.replacen("{\n%z:", "var $k: i32\n\n{\n%z:", 1)
}

/// LLVM IR of what is done where all is inside, if that is told apart.
fn inside(source: &str) -> Option<String> {
    ptx(source);
    let code = compile_with_llvm(&module(source), Arch::Sm80).expect("it is supported");
    let [lowered, _] = code.llvm.expect("it was asked for");
    let (_, behind) = lowered.split_once("\ninside:")?;
    Some(behind.split_once("\nlooking:").expect("the other way").0.to_owned())
}

const LOADS: &str = "%p: ptr<buffer> = ptr_add<scale=8> %in, %k\n%a: i32 = load %p\n\
                     %q: ptr<buffer> = ptr_add<disp=4> %p\n%b: i32 = load %q";

#[test]
fn what_is_inside_is_looked_at_once() {
    let stores =
        format!("{LOADS}\n%s: i32 = iadd %a, %b\n%r: ptr<buffer> = ptr_add<scale=4> %out, %k\nstore %r, %s");
    let inside = inside(&rounds(&stores)).expect("three accesses of a round");
    for looks in ["select", "icmp", "br i1"] {
        assert!(!inside.contains(looks), "{looks} in\n{inside}");
    }
    assert_eq!(inside.matches("load i32, ptr addrspace(1)").count(), 2, "{inside}");
    assert_eq!(inside.matches("store i32 %").count(), 2, "the buffer's and the variable's: {inside}");
}

#[test]
fn what_may_not_part_or_is_not_known_is_looked_at_where_it_is() {
    // One access is as well looked at by itself.
    assert_eq!(inside(&rounds("%p: ptr<buffer> = ptr_add<scale=4> %in, %k\n%a: i32 = load %p")), None);
    // Where the second lies is known only when the first is loaded.
    let follows = "%p: ptr<buffer> = ptr_add<scale=4> %in, %k\n%a: i32 = load %p\n\
                   %q: ptr<buffer> = ptr_add<scale=4> %in, %a\n%b: i32 = load %q";
    assert_eq!(inside(&rounds(follows)), None);
    // Threads that do something together do not part.
    let together = format!("{LOADS}\n%s: i32 = subgroup_reduce<iadd> %a");
    assert_eq!(inside(&rounds(&together)), None);
    // Outside of loops code is executed once.
    assert_eq!(inside(&kernel(&LOADS.replace("%k", "%i"))), None);
}
