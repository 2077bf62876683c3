//! Blocks end as they must: with a terminator and with no other in their midst, and what a branch hands over is what
//! the block takes.
//!
//! Of operations that are not known here nothing is asked: they may be terminators or not.

use super::custom::ends_block;
use super::error::{Parsed, SyntaxError};
use super::lexer::quoted;
use super::operation::find;
use super::print::shown;
use crate::ast::{Attr, Block, Op, Pos, Region, Type, ValueDef};

/// Checks all operations.
pub(crate) fn check(ops: &[Op], values: &[ValueDef]) -> Parsed<()> {
    ops.iter().try_for_each(|op| {
        op.regions.iter().try_for_each(|region| {
            if matches!(&*op.name, "func.func" | "gpu.func") && !region.blocks.is_empty() {
                entry(op, values)?;
            }
            for block in &region.blocks {
                if takes_terminators(op) {
                    terminated(op, block)?;
                }
                for inner in &block.ops {
                    branches(inner, region, values)?;
                }
                check(&block.ops, values)?;
            }
            Ok(())
        })
    })
}

/// Whether the blocks of an operation end with terminators.
fn takes_terminators(op: &Op) -> bool {
    matches!(
        &*op.name,
        "func.func"
            | "gpu.func"
            | "gpu.launch"
            | "gpu.all_reduce"
            | "scf.for"
            | "scf.if"
            | "scf.while"
            | "scf.index_switch"
            | "scf.parallel"
            | "scf.reduce"
            | "scf.execute_region"
            | "affine.for"
            | "affine.if"
    )
}

/// Whether an operation is of a dialect whose terminators are known here.
fn is_known(op: &Op) -> bool {
    let dialect = op.name.split('.').next().unwrap_or_default();
    matches!(
        dialect,
        "builtin" | "func" | "gpu" | "arith" | "math" | "scf" | "cf" | "memref" | "vector" | "affine" | "ub"
    )
}

fn terminated(op: &Op, block: &Block) -> Parsed<()> {
    let message = "an operation that ends the block";
    let Some((last, rest)) = block.ops.split_last() else {
        let found = format!("a block of {} without operations", quoted(&op.name));
        return Err(SyntaxError::unexpected(op.pos, message, found));
    };
    if let Some(early) = rest.iter().position(ends_block) {
        let next = rest.get(early + 1).unwrap_or(last);
        let found = format!("{} behind {}", quoted(&next.name), quoted(&rest[early].name));
        return Err(SyntaxError::unexpected(next.pos, "the end of the block", found));
    }
    if is_known(last) && !ends_block(last) {
        return Err(SyntaxError::unexpected(
            last.pos,
            format!("{message} behind this one"),
            quoted(&last.name),
        ));
    }
    Ok(())
}

/// The first block of a function takes its arguments, and that of a kernel its memory behind them.
fn entry(op: &Op, values: &[ValueDef]) -> Parsed<()> {
    let Some(Attr::Type(Type::Function(inputs, _))) = find(&op.attrs, "function_type") else {
        return Err(SyntaxError::unexpected(op.pos, "a function with its `function_type`", "one without"));
    };
    let block = op.regions.first().and_then(|region| region.blocks.first());
    let args = block.map_or(&[][..], |block| &block.args);
    let types = args.iter().filter_map(|arg| values.get(arg.0 as usize)).map(|def| &def.ty);
    let exact = &*op.name == "gpu.func" || args.len() == inputs.len();
    if exact && args.len() >= inputs.len() && types.zip(inputs).all(|(arg, input)| arg == input) {
        return Ok(());
    }
    let expected = "a function whose first block takes what its type says";
    Err(SyntaxError::unexpected(op.pos, expected, "another"))
}

fn branches(op: &Op, region: &Region, values: &[ValueDef]) -> Parsed<()> {
    if !matches!(&*op.name, "cf.br" | "cf.cond_br" | "cf.switch") {
        return Ok(());
    }
    let ty = |value: crate::ast::ValueId| values.get(value.0 as usize).map(|def| &def.ty);
    for successor in &op.successors {
        if successor.block == 0 {
            return Err(SyntaxError::unexpected(
                op.pos,
                "a branch to another block than the first",
                "one to that",
            ));
        }
        let args = region.blocks.get(successor.block).map_or(&[][..], |block| &block.args);
        if args.len() != successor.args.len() {
            return Err(mismatch(
                op.pos,
                &format!("{} values", args.len()),
                &successor.args.len().to_string(),
            ));
        }
        for (wanted, given) in args.iter().zip(&successor.args) {
            if let (Some(wanted), Some(given)) = (ty(*wanted), ty(*given))
                && wanted != given
            {
                return Err(mismatch(op.pos, &shown(wanted), &shown(given)));
            }
        }
    }
    Ok(())
}

fn mismatch(pos: Pos, wanted: &str, given: &str) -> Box<SyntaxError> {
    SyntaxError::unexpected(
        pos,
        format!("a branch that hands over what its block takes, {wanted}"),
        given.to_owned(),
    )
}
