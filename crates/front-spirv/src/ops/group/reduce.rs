//! Reductions and scans: over the subgroup, clusters of it, or partitions (SPV_NV_shader_subgroup_partitioned).

use super::{expect_subgroup, map};
use crate::cx::{Cx, Values};
use crate::diag::{Res, code, operand, unsupported};
use crate::ops::componentwise::{self as cw, Class};
use crate::reader::{Id, Inst};
use phalanx_ir::{ReduceOp as R, Scalar, SubgroupOp as S};
use spirv::{GroupOperation, Op};

/// What an instruction reduces with, and what it takes; `None` if it is no reduction.
pub(super) fn operation(op: Op) -> Option<(R, Class)> {
    Some(match op {
        Op::GroupNonUniformIAdd => (R::Iadd, Class::Int),
        Op::GroupNonUniformFAdd => (R::Fadd, Class::Float),
        Op::GroupNonUniformIMul => (R::Imul, Class::Int),
        Op::GroupNonUniformFMul => (R::Fmul, Class::Float),
        Op::GroupNonUniformSMin => (R::Smin, Class::Int),
        Op::GroupNonUniformUMin => (R::Umin, Class::Int),
        Op::GroupNonUniformFMin => (R::Fmin, Class::Float),
        Op::GroupNonUniformSMax => (R::Smax, Class::Int),
        Op::GroupNonUniformUMax => (R::Umax, Class::Int),
        Op::GroupNonUniformFMax => (R::Fmax, Class::Float),
        Op::GroupNonUniformBitwiseAnd => (R::And, Class::Int),
        Op::GroupNonUniformBitwiseOr => (R::Or, Class::Int),
        Op::GroupNonUniformBitwiseXor => (R::Xor, Class::Int),
        Op::GroupNonUniformLogicalAnd => (R::And, Class::Bool),
        Op::GroupNonUniformLogicalOr => (R::Or, Class::Bool),
        Op::GroupNonUniformLogicalXor => (R::Xor, Class::Bool),
        _ => return None,
    })
}

/// Translates a reduction: scope, group operation, value, and the cluster size or ballot.
pub(super) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let Some((op, class)) = operation(inst.op) else {
        return Err(unsupported(code::OPCODE, format!("{} is not supported", inst.name())));
    };
    expect_subgroup(cx, inst)?;
    let x = cw::components(cx, inst.arg(2)?, class)?;
    let (op, ballot) = group_operation(cx, inst, op)?;
    let out = map(cx, op, &x, &ballot);
    cx.define_values(inst, &out)
}

fn group_operation(cx: &mut Cx<'_>, inst: &Inst<'_>, op: R) -> Res<(S, Values)> {
    use GroupOperation as G;
    let none = Values::new();
    let number = inst.arg(1)?;
    match GroupOperation::from_u32(number) {
        Some(G::Reduce) => Ok((S::Reduce(op, None), none)),
        Some(G::InclusiveScan) => Ok((S::InclusiveScan(op), none)),
        Some(G::ExclusiveScan) => Ok((S::ExclusiveScan(op), none)),
        Some(G::ClusteredReduce) => Ok((S::Reduce(op, cluster_size(cx, inst.arg(3)?)?), none)),
        Some(G::PartitionedReduceEXT) => Ok((S::PartitionedReduce(op), ballot(cx, inst.arg(3)?)?)),
        Some(G::PartitionedInclusiveScanEXT) => {
            Ok((S::PartitionedInclusiveScan(op), ballot(cx, inst.arg(3)?)?))
        }
        Some(G::PartitionedExclusiveScanEXT) => {
            Ok((S::PartitionedExclusiveScan(op), ballot(cx, inst.arg(3)?)?))
        }
        None => Err(operand(format!("unknown group operation {number}"))),
    }
}

/// A ballot operand: four `i32`.
pub(super) fn ballot(cx: &mut Cx<'_>, id: Id) -> Res<Values> {
    let words = cw::vector(cx, id, Class::Int, 4)?;
    cx.expect(id, words[0], Scalar::I32.into())?;
    Ok(words)
}

/// A *ClusterSize* operand; `None` for all lanes. More than there are is undefined behaviour, and
/// all of them here.
pub(super) fn cluster_size(cx: &Cx<'_>, id: Id) -> Res<Option<u32>> {
    let size = cx.const_u32(id)?;
    if !size.is_power_of_two() {
        return Err(operand(format!("the cluster size %{id} is {size}, expected a power of two")));
    }
    Ok((size < cx.globals.subgroup_size).then_some(size))
}

/// *OpGroupNonUniformQuadAllKHR* and *Any* (SPV_KHR_quad_control): a vote of each quad.
pub(super) fn quad_vote(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let x = cw::scalar(cx, inst.arg(0)?, Class::Bool)?;
    let op = if inst.op == Op::GroupNonUniformQuadAllKHR { R::And } else { R::Or };
    let out = map(cx, S::Reduce(op, Some(4)), &[x], &[]);
    cx.define_values(inst, &out)
}
