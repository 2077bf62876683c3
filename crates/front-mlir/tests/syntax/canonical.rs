//! Two trees are the same if their canonical texts are: attributes sorted, values numbered, no locations, and a module
//! around it all.

use phalanx_front_mlir::ast::{Ast, Attr, Op, Pos, Region};
use phalanx_front_mlir::parse;
use phalanx_front_mlir::syntax::print;

/// Reads a text and prints it canonically.
pub(crate) fn canonical(what: &str, text: &str) -> String {
    canonical_of(tree(what, text))
}

/// Reads a text, which must be right.
pub(crate) fn tree(what: &str, text: &str) -> Ast {
    parse(text).unwrap_or_else(|error| panic!("{what}:{error}"))
}

/// Shows the first line that differs.
pub(crate) fn assert_same(what: &str, left: &str, right: &str) {
    let differs = left.lines().zip(right.lines()).find(|(left, right)| left != right);
    if let Some((left, right)) = differs {
        panic!("{what}\n one: {}\n two: {}", left.trim(), right.trim());
    }
    assert_eq!(left.lines().count(), right.lines().count(), "{what}: one is longer");
}

pub(crate) fn canonical_of(mut ast: Ast) -> String {
    ast.ops.iter_mut().for_each(sort);
    let is_module = matches!(&ast.ops[..], [op] if &*op.name == "builtin.module");
    if !is_module {
        let block = phalanx_front_mlir::ast::Block { args: Vec::new(), ops: std::mem::take(&mut ast.ops) };
        ast.ops.push(Op {
            name: "builtin.module".into(),
            pos: Pos::default(),
            loc: None,
            operands: Vec::new(),
            results: Vec::new(),
            attrs: Vec::new(),
            regions: vec![Region { blocks: vec![block] }],
            successors: Vec::new(),
        });
    }
    print(&ast)
}

fn sort(op: &mut Op) {
    // Operations that passes make state this default, and custom forms leave it out.
    op.attrs.retain(|(name, attr)| &**name != "nontemporal" || *attr != Attr::Bool(false));
    op.attrs.sort_by(|a, b| a.0.cmp(&b.0));
    op.attrs.iter_mut().for_each(|(_, attr)| sort_attr(attr));
    for block in op.regions.iter_mut().flat_map(|region| &mut region.blocks) {
        block.ops.iter_mut().for_each(sort);
    }
}

fn sort_attr(attr: &mut Attr) {
    match attr {
        Attr::Array(items) => items.iter_mut().for_each(sort_attr),
        Attr::Dict(items) => {
            items.sort_by(|a, b| a.0.cmp(&b.0));
            items.iter_mut().for_each(|(_, attr)| sort_attr(attr));
        }
        _ => {}
    }
}
