//! Blocks of loops whose accesses are looked at together.

use crate::{kernel, module, ptx};
use phalanx_back_nvptx::{Arch, compile_with_llvm};

/// A loop with something in it.
fn rounds(body: &str) -> String {
    let source = kernel(&format!(
        "%one: i32 = const 1\n%n: i32 = load %in\nvar_store<$k> %z\nvar_store<$sum> %z\n\
         loop @0 {{\n%k: i32 = var_load<$k>\n%more: bool = ult %k, %n\nif %more {{\n{body}\n\
         %next: i32 = iadd %k, %one\nvar_store<$k> %next\nbr @0\n}} else {{\n}}\n}}\n\
         %all: i32 = var_load<$sum>\nstore %out, %all"
    ));
    source.replacen("{\n%z:", "var $k: i32\nvar $sum: i32\n\n{\n%z:", 1)
}

/// Loads of so many words that lie side by side, at places that an index says, and their sum; the names begin with a word.
fn loads(count: usize, name: &str, from: &str, index: &str) -> String {
    let load = |i: usize| {
        let at = 4 * i;
        format!(
            "%{name}p{i}: ptr<buffer> = ptr_add<scale=16, disp={at}> {from}, {index}\n\
             %{name}{i}: i32 = load %{name}p{i}\n%{name}old{i}: i32 = var_load<$sum>\n\
             %{name}sum{i}: i32 = iadd %{name}old{i}, %{name}{i}\nvar_store<$sum> %{name}sum{i}\n"
        )
    };
    (0..count).map(load).collect()
}

/// LLVM IR of what is done where all is inside, if that is told apart.
fn inside(source: &str) -> Option<String> {
    ptx(source);
    let code = compile_with_llvm(&module(source), Arch::Sm80).expect("it is supported");
    let [lowered, _] = code.llvm.expect("it was asked for");
    assert!(lowered.contains("load i32, ptr addrspace(1)"), "{lowered}");
    let (_, behind) = lowered.split_once("\ninside:")?;
    Some(behind.split_once("\nlooking:").expect("the other way").0.to_owned())
}

/// How many words of buffers are loaded.
fn loaded(llvm: &str) -> usize {
    llvm.matches("load i32, ptr addrspace(1)").count()
}

#[test]
fn what_is_inside_is_looked_at_once() {
    let store = "%r: ptr<buffer> = ptr_add<scale=4> %out, %k\nstore %r, %asum1";
    let inside = inside(&rounds(&(loads(2, "a", "%in", "%k") + store))).expect("three accesses of a round");
    for looks in ["select", "icmp", "br i1"] {
        assert!(!inside.contains(looks), "{looks} in\n{inside}");
    }
    let stored = inside.lines().filter(|line| line.contains("store") && line.contains("addrspace(1)"));
    assert_eq!((loaded(&inside), stored.count()), (2, 1), "{inside}");
}

#[test]
fn the_block_with_the_most_accesses_is_the_one() {
    let some = format!(
        "{}%some: bool = ult %i, %k\nif %some {{\n{}}} else {{\n}}",
        loads(2, "a", "%in", "%k"),
        loads(3, "b", "%out", "%k")
    );
    let inside = inside(&rounds(&some)).expect("three accesses of a branch");
    assert_eq!(loaded(&inside), 3, "{inside}");
}

#[test]
fn what_may_not_part_or_is_not_known_is_looked_at_where_it_is() {
    // One access is as well looked at by itself.
    assert_eq!(inside(&rounds(&loads(1, "a", "%in", "%k"))), None);
    // Where the second lies is known only when the first is loaded.
    let follows = loads(1, "a", "%in", "%k") + &loads(1, "b", "%in", "%a0");
    assert_eq!(inside(&rounds(&follows)), None);
    // Threads that do something together do not part.
    let together = "%s: i32 = subgroup_reduce<iadd> %a0\nvar_store<$sum> %s";
    assert_eq!(inside(&rounds(&(loads(2, "a", "%in", "%k") + together))), None);
    // Outside of loops code is executed once.
    let once = kernel(&(loads(2, "a", "%in", "%i") + "store %out, %asum1"));
    assert_eq!(inside(&once.replacen("{\n%z:", "var $sum: i32\n\n{\n%z:", 1)), None);
}
