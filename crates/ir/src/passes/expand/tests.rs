//! What is taken apart, and what is left alone.

use super::{Scratch, expand, expand_but};
use crate::passes::Options;
use crate::{InstInfo, Op, Verified, text, verify};

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
    // Each works on its own, and a target can see so.
    let parts =
        module.body.insts.iter().filter(|i| matches!(i.op, Op::SharedPtr { offset: 128, bytes: 128 }));
    assert_eq!(parts.map(|part| part.args.len()).collect::<Vec<_>>(), [1]);
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
    let module = parse(TRANSPOSE);
    let scratch = Scratch { start: 1000, subgroups: 1, ..Scratch::of(&module) };
    let module = expand(&module, scratch, &Options::default()).unwrap().unwrap();
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

#[test]
fn what_a_target_does_whole_stays_with_its_region() {
    let module = parse(
        "workgroup_size 32 1 1 shared 4096 {
        %p: ptr<shared> = shared_ptr<offset=0, bytes=4096>
        %s: i64 = const 16
        %m: mat<8x4xf32, subgroup, acc> = mat_load %p, %s
        %n: mat<8x4xf32, subgroup, acc> = mat_map %m {
            %r: i32, %c: i32, %x: f32 = params
            %y: f32 = fmul %x, %x
            yield %y
        }
        %t: mat<4x8xf32, subgroup, b> = mat_transpose %n
        mat_store %p, %t, %s
    }",
    );
    let options = Options { verify: true, ..Options::default() };
    let keep = |is_whole: fn(&Op) -> bool| {
        expand_but(&|_, info| is_whole(&info.op), &module, Scratch::of(&module), &options).unwrap()
    };
    let left =
        |module: &Verified, op: fn(&Op) -> bool| module.body.insts.iter().filter(|i| op(&i.op)).count();
    let expanded = keep(|op| matches!(op, Op::MatMap { .. })).unwrap();
    assert_eq!(left(&expanded, |op| matches!(op, Op::MatMap { .. })), 1);
    assert_eq!(left(&expanded, |op| matches!(op, Op::MatTranspose)), 0);
    assert!(expanded.body.insts.iter().any(|i| i.op == Op::Yield));
    assert!(keep(|_| true).is_none());
}

/// A load that decodes blocks of 32 elements along the rows, or along the columns, in a work-group of so many invocations.
fn decoding(invocations: u32, view: &str) -> Verified {
    parse(&format!(
        "workgroup_size {invocations} 1 1 subgroup_size 32 binding buf0 = 0.0 storage writable {{
        %0: i32 = const 0
        %1: i32 = const 1
        %32: i32 = const 32
        %64: i32 = const 64
        %s: i64 = const 128
        %p: ptr<buffer> = buffer_ptr<buf0> %0
        %n: i32 = load %p
        %m: mat<64x64xf16, subgroup, a> = mat_load_tensor<dims=2, constant, unit=18{view}, decode> %p, %n, %n, %n, %1, %n, %n, %64, %64, \
                %1, %32, %0 {{
            %b: ptr<buffer>, %y: i32, %x: i32, %i: i32, %j: i32 = params
            %q: ptr<buffer> = ptr_add<scale=2> %b, %j
            %h: f16 = load %q
            yield %h
        }}
        mat_store %p, %m, %s
    }}"
    ))
}

#[test]
fn rows_that_are_decoded_are_a_map_where_maps_are_done_whole() {
    let options = Options { verify: true, ..Options::default() };
    let expanded = |module: &Verified, maps: bool| {
        let scratch = Scratch { decodes_in_components: true, ..Scratch::of(module) };
        let is_whole = |_: &_, info: &InstInfo| maps && matches!(info.op, Op::MatMap { .. });
        let module = expand_but(&is_whole, module, scratch, &options).unwrap().unwrap();
        let maps =
            module.body.insts.iter().filter(|i| matches!(i.op, Op::MatMap { .. }) && i.args.is_empty());
        (maps.count(), module.shared_bytes)
    };
    let rows = decoding(64, "");
    assert_eq!(expanded(&rows, true), (1, 0));
    // One that takes maps apart, columns, and a subgroup that is partly filled: through scratch memory.
    assert_eq!(expanded(&rows, false), (0, 2 * 64 * 64 * 2));
    let columns = ", view=2, p0=1, p1=0";
    assert_eq!(expanded(&decoding(64, columns), true), (0, 2 * 64 * 64 * 2));
    assert_eq!(expanded(&decoding(48, ""), true), (0, 2 * 64 * 64 * 2));
}
