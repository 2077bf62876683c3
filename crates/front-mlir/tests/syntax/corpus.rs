//! What is printed is read as it was, and what was read is what was meant.

use crate::canonical::{assert_same, canonical, canonical_of, tree};
use phalanx_front_mlir::ast::{Ast, Op, Type};
use phalanx_front_mlir::syntax::print;

/// A text and its name.
pub(crate) struct Input {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! inputs {
    ($($name:literal),+ $(,)?) => {
        [$(Input { name: $name, text: include_str!(concat!("corpus/", $name, ".mlir")) }),+]
    };
}

/// What the command measures.
pub(crate) const LADDER: &str = include_str!("../../../cli/shaders/ladder/shared.mlir");
const CONVOLUTION: &str = include_str!("../../../cli/shaders/conv/rotate.mlir");

#[test]
fn the_kernels_of_the_command_are_printed_as_they_were_read() {
    for (name, text) in [("ladder", LADDER), ("convolution", CONVOLUTION)] {
        assert_same(name, &canonical(name, text), &canonical(name, &print(&tree(name, text))));
    }
}

/// Texts of operations that `mlir-opt` 19 knows.
pub(crate) const UPSTREAM: [Input; 13] = inputs![
    "affine",
    "arith",
    "attributes",
    "cf",
    "gpu_host",
    "gpu_kernel",
    "gpu_mma",
    "math",
    "memref",
    "module_func",
    "scf",
    "vector",
    "generic",
];

/// Texts of operations that later versions have, or only the RFC.
pub(crate) const OURS: [Input; 2] = inputs!["rfc", "later"];

#[test]
fn what_is_printed_is_read_as_it_was() {
    for Input { name, text } in UPSTREAM.iter().chain(&OURS) {
        let first = print(&tree(name, text));
        let second = print(&tree(name, &first));
        assert_eq!(first, second, "{name}");
        assert_same(name, &canonical(name, text), &canonical(name, &second));
    }
}

fn every_op(ops: &[Op], visit: &mut impl FnMut(&Op)) {
    for op in ops {
        visit(op);
        for block in op.regions.iter().flat_map(|region| &region.blocks) {
            every_op(&block.ops, visit);
        }
    }
}

/// The operations of a name, one behind the other.
fn find(ast: &Ast, name: &str) -> Vec<Op> {
    let mut found = Vec::new();
    every_op(&ast.ops, &mut |op| {
        if &*op.name == name {
            found.push(op.clone());
        }
    });
    found
}

#[test]
fn branches_hand_over_their_values() {
    let ast = tree("cf", UPSTREAM[3].text);
    let branches = find(&ast, "cf.cond_br");
    assert_eq!(branches[0].operands.len(), 2);
    assert_eq!(branches[0].successors[0].args, branches[0].operands[1..]);
    assert!(branches[0].successors[1].args.is_empty());
    let switch = &find(&ast, "cf.switch")[0];
    let args: Vec<usize> = switch.successors.iter().map(|successor| successor.args.len()).collect();
    assert_eq!(args, [1, 2, 0]);
    assert_eq!(switch.successors[1].args, switch.operands[2..]);
    let blocks: Vec<usize> = switch.successors.iter().map(|successor| successor.block).collect();
    assert_eq!(blocks, [1, 3, 2]);
}

#[test]
fn locations_are_kept_whatever_their_form() {
    let ast = tree("attributes", UPSTREAM[2].text);
    let found: Vec<_> = find(&ast, "arith.addi").into_iter().map(|op| op.loc).collect();
    let places: Vec<String> = found
        .iter()
        .map(|loc| {
            loc.as_ref()
                .map_or("-".to_owned(), |loc| format!("{}:{}:{}", loc.file, loc.pos.line, loc.pos.column))
        })
        .collect();
    // The first one has none.
    let expected = ["-", "file.mlir:10:3", "late.mlir:7:8", "caller.mlir:2:2", "x.mlir:5:6", "one.mlir:1:1"];
    assert_eq!(places, expected);
}

#[test]
fn positions_are_those_of_the_text() {
    let ast = tree(
        "text",
        "module {\n  func.func @f(%a: i32) {\n    %b = arith.addi %a, %a : i32\n    return\n  }\n}\n",
    );
    let op = &find(&ast, "arith.addi")[0];
    assert_eq!((op.pos.line, op.pos.column), (3, 10));
    let (a, b) = (&ast.values[op.operands[0].0 as usize], &ast.values[op.results[0].0 as usize]);
    assert_eq!((&*a.name, a.pos.line, a.pos.column), ("a", 2, 16));
    assert_eq!((&*b.name, b.pos.line, b.pos.column), ("b", 3, 5));
    assert_eq!(b.ty, Type::Int(32, phalanx_front_mlir::ast::Sign::None));
}

#[test]
fn the_two_rotations_are_told_apart() {
    let ast = tree("rfc", OURS[0].text);
    let rotations = find(&ast, "gpu.rotate");
    assert_eq!(rotations.len(), 2);
    assert_eq!((rotations[0].operands.len(), rotations[0].results.len()), (3, 1));
    assert_eq!((rotations[1].operands.len(), rotations[1].results.len()), (1, 2));
    let names: Vec<&str> = rotations[1].attrs.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["offset", "width"]);
}

#[test]
fn generic_and_custom_form_give_the_same_tree() {
    let custom = "func.func @f(%a: f32, %n: index) -> f32 {\n  %r = scf.for %i = %n to %n step %n iter_args(%s = %a) -> (f32) {\n    %t = arith.addf %s, %a : f32\n    scf.yield %t : f32\n  }\n  return %r : f32\n}\n";
    let generic = r#"
"func.func"() <{function_type = (f32, index) -> f32, sym_name = "f"}> ({
^bb0(%a: f32, %n: index):
  %r = "scf.for"(%n, %n, %n, %a) ({
  ^bb0(%i: index, %s: f32):
    %t = "arith.addf"(%s, %a) : (f32, f32) -> f32
    "scf.yield"(%t) : (f32) -> ()
  }) : (index, index, index, f32) -> f32
  "func.return"(%r) : (f32) -> ()
}) : () -> ()
"#;
    assert_eq!(canonical_of(tree("custom", custom)), canonical_of(tree("generic", generic)));
}
