//! What is taken apart, and what is left alone.

use super::{Scratch, expand};
use crate::passes::Options;
use crate::{Op, Verified, text, verify};

fn parse(code: &str) -> Verified {
    let module = text::parse(code).unwrap_or_else(|e| panic!("{e}\n{code}"));
    verify(module).unwrap_or_else(|e| panic!("{e}\n{code}"))
}

fn run(code: &str) -> Option<Verified> {
    let module = parse(code);
    expand(&module, Scratch::of(&module), &Options { verify: true, ..Options::default() }).unwrap()
}

const TRANSPOSE: &str = "workgroup_size 64 1 1 shared 100 {
    %p: ptr<shared> = shared_ptr<offset=0, bytes=100>
    %s: i64 = const 16
    %m: mat<8x4xf32, subgroup, acc> = mat_load %p, %s
    %t: mat<4x8xf32, subgroup, b> = mat_transpose %m
    mat_store %p, %t, %s
}";

#[test]
fn scratch_memory_lies_behind_the_modules_own() {
    let module = run(TRANSPOSE).unwrap();
    // Two subgroups with a matrix each.
    assert_eq!(module.shared_bytes, 128 + 2 * 8 * 4 * 4);
    assert!(module.body.insts.iter().all(|i| i.op != Op::MatTranspose));
}

#[test]
fn other_scopes_and_other_operations_stay() {
    assert!(run("{ %0: i32 = const 0 }").is_none());
    assert!(run(&TRANSPOSE.replace("subgroup", "workgroup")).is_none());
}

#[test]
fn too_much_scratch_memory_is_left_to_the_target() {
    let large = TRANSPOSE.replace("8x4xf32", "4096x4096xf64").replace("4x8xf32", "4096x4096xf64");
    assert!(run(&large).is_none());
}

#[test]
fn scratch_memory_may_be_for_one_subgroup_and_begin_later() {
    let scratch = Scratch { start: 1000, subgroups: 1 };
    let module = expand(&parse(TRANSPOSE), scratch, &Options::default()).unwrap().unwrap();
    assert_eq!(module.shared_bytes, 1024 + 8 * 4 * 4);
}

#[test]
fn lines_of_invocations_lie_side_by_side() {
    let module = run("workgroup_size 32 1 1 subgroup_size 16 format \"%u %u\" {
        %a: i32 = const 1
        %m: mat<8x4xf16, subgroup, acc> = mat_from_lanes %a, %a
        %n: mat<4x8xf16, subgroup, b> = mat_transpose %m
        %x: i32, %y: i32 = mat_to_lanes<columns> %n
        printf<format=0> %x, %y
    }");
    let module = module.unwrap();
    // Two subgroups, with a line for each invocation.
    assert_eq!(module.shared_bytes, 2 * 16 * 4 * 2);
    let is_whole = |op: &Op| matches!(op, Op::MatFromLanes { .. } | Op::MatToLanes { .. });
    assert!(module.body.insts.iter().all(|i| !is_whole(&i.op)));
}
