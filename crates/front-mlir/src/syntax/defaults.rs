//! What MLIR adds to an operation whatever form it was written in: the defaults of properties, and what is known of an
//! operation by its name alone.

use super::custom;
use super::operation::find;
use crate::ast::{Attr, Op};

/// Whether the operation's regions see no values from outside.
pub(crate) fn is_isolated(name: &str) -> bool {
    matches!(
        name,
        "builtin.module"
            | "func.func"
            | "gpu.module"
            | "gpu.func"
            | "spirv.module"
            | "spirv.func"
            | "llvm.func"
    )
}

/// Adds defaults, and the values that successors take.
pub(crate) fn complete(op: &mut Op) {
    if &*op.name == "builtin.module" && op.regions.first().is_some_and(|region| region.blocks.is_empty()) {
        op.regions[0].blocks.push(crate::ast::Block::default());
    }
    // Version 19 ends a module of kernels with this, later ones with nothing.
    if let ("gpu.module", [region]) = (&*op.name, &mut op.regions[..]) {
        custom::terminate(region, "gpu.module_end", op.pos);
    }
    custom::default_flags(op);
    let (name, attr) = match &*op.name {
        "ub.poison" => ("value", "ub.poison"),
        "vector.outerproduct" | "vector.contract" => ("kind", "vector.kind<add>"),
        _ => ("", ""),
    };
    if !name.is_empty() && find(&op.attrs, name).is_none() {
        op.attrs.push((name.into(), Attr::Dialect(attr.into())));
    }
    pass_arguments(op);
}

/// Operands of branches belong to successors: `operands` has all of them, as in the generic form, and each successor
/// its own.
fn pass_arguments(op: &mut Op) {
    match (&*op.name, &mut op.successors[..]) {
        ("cf.br", [target]) => target.args.clone_from(&op.operands),
        ("cf.cond_br", [then, other]) => {
            let sizes = sizes(&op.attrs, "operandSegmentSizes");
            if let [_, first, second] = sizes[..] {
                let at = |from: usize, count: usize| {
                    op.operands.get(from..from + count).unwrap_or_default().to_vec()
                };
                then.args = at(1, first);
                other.args = at(1 + first, second);
            }
        }
        ("cf.switch", [default, cases @ ..]) => {
            let groups = sizes(&op.attrs, "operandSegmentSizes");
            let [flag, first, ..] = groups[..] else { return };
            let mut at = flag;
            let mut take = |count: usize| {
                let taken = op.operands.get(at..at.saturating_add(count)).unwrap_or_default().to_vec();
                at += count;
                taken
            };
            default.args = take(first);
            for (case, count) in cases.iter_mut().zip(sizes(&op.attrs, "case_operand_segments")) {
                case.args = take(count);
            }
        }
        _ => {}
    }
}

/// The numbers of an `array<i32: …>`.
fn sizes(attrs: &super::attrs::Attrs, name: &str) -> Vec<usize> {
    let Some(Attr::DenseArray(_, items)) = find(attrs, name) else { return Vec::new() };
    let number = |attr: &Attr| match attr {
        Attr::Int(value, _) => u32::try_from(*value).unwrap_or(0) as usize,
        _ => 0,
    };
    items.iter().map(number).collect()
}
