//! Ids, sizes and barriers: the plain part of `gpu`.

use phalanx_ir::{Barrier, Builtin, ConvertKind, Op as IrOp, Rounding, Scalar, Scope, Type as IrType, Value};

use super::arith::{converted, scalar_of};
use super::attr;
use super::cx::Cx;
use super::value::Val;
use super::{group, mma};
use crate::ast::{Attr, Op};
use crate::error::{Res, invalid, not_built};

/// Translates an operation of the dialect.
pub(super) fn emit<'a>(cx: &mut Cx<'a>, op: &'a Op) -> Res<()> {
    match &*op.name {
        "gpu.thread_id" => builtin(cx, op, Builtin::LocalInvocationId(axis(op)?)),
        "gpu.block_id" => builtin(cx, op, Builtin::WorkgroupId(axis(op)?)),
        "gpu.grid_dim" => builtin(cx, op, Builtin::NumWorkgroups(axis(op)?)),
        "gpu.global_id" => builtin(cx, op, Builtin::GlobalInvocationId(axis(op)?)),
        "gpu.lane_id" => builtin(cx, op, Builtin::SubgroupLane),
        "gpu.subgroup_id" => builtin(cx, op, Builtin::SubgroupId),
        "gpu.block_dim" => {
            let size = cx.module.workgroup_size[usize::from(axis(op)?)];
            known(cx, op, size)
        }
        "gpu.num_subgroups" => known(cx, op, cx.module.num_subgroups()),
        "gpu.subgroup_size" => known(cx, op, cx.module.subgroup_size),
        "gpu.barrier" => {
            barrier(cx);
            Ok(())
        }
        "gpu.shuffle"
        | "gpu.rotate"
        | "gpu.subgroup_reduce"
        | "gpu.all_reduce"
        | "gpu.subgroup_broadcast" => group::emit(cx, op),
        "gpu.printf" => printf(cx, op),
        name if name.starts_with("gpu.subgroup_mma_") => mma::emit(cx, op),
        _ => Err(not_built()),
    }
}

/// `x`, `y` or `z` of `#gpu<dim x>`.
fn axis(op: &Op) -> Res<u8> {
    match attr::keyword(op, "dimension")? {
        "x" => Ok(0),
        "y" => Ok(1),
        "z" => Ok(2),
        other => Err(invalid(format!("dimension {other}: expected x, y or z"))),
    }
}

fn builtin(cx: &mut Cx<'_>, op: &Op, builtin: Builtin) -> Res<()> {
    let value = input(cx, builtin);
    let value = cx.widen(value);
    cx.define(op, vec![Val::one(value)])
}

/// A built-in input, an `i32`.
pub(super) fn input(cx: &mut Cx<'_>, builtin: Builtin) -> Value {
    cx.b().value(IrOp::Builtin(builtin), &[], IrType::I32)
}

fn known(cx: &mut Cx<'_>, op: &Op, n: u32) -> Res<()> {
    let value = cx.b().i64(i64::from(n));
    cx.define(op, vec![Val::one(value)])
}

/// The arguments become what the format's conversions take.
fn printf(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let Some(Attr::Str(format)) = attr::get(op, "format") else {
        return Err(invalid("expected the attribute `format`, a text"));
    };
    // What is printed is a line of its own anyway.
    let format = format.strip_suffix('\n').unwrap_or(format);
    let expected = phalanx_ir::printf::arguments(format);
    if expected.len() != op.operands.len() {
        let (found, expected) = (op.operands.len(), expected.len());
        return Err(invalid(format!("{found} arguments for a format with {expected} conversions")));
    }
    let mut args = Vec::with_capacity(expected.len());
    for (i, &wanted) in expected.iter().enumerate() {
        let value = cx.value(op, i)?;
        let from = scalar_of(cx, value)?;
        let kind = match (from.is_float(), wanted.is_float()) {
            (true, true) => ConvertKind::FToF,
            (false, false) if from == Scalar::Bool => ConvertKind::UToU,
            (false, false) => ConvertKind::SToS,
            _ => return Err(cx.wrong(op, i, wanted.name())),
        };
        args.push(converted(cx, kind, value, wanted, Rounding::NearestEven)?);
    }
    let known = cx.module.formats.iter().position(|known| known == format);
    let index = known.unwrap_or_else(|| {
        cx.module.formats.push(format.to_string());
        cx.module.formats.len() - 1
    });
    cx.b().effect(IrOp::Printf(index as u32), &args);
    Ok(())
}

/// Invocations of the work-group wait for each other, and see what the others wrote.
pub(super) fn barrier(cx: &mut Cx<'_>) {
    let scope = Scope::Workgroup;
    cx.b().effect(IrOp::Barrier(Barrier { execution: scope, memory: scope }), &[]);
}
