//! Operations between the invocations of a subgroup: votes and broadcasts here, ballots, shuffles
//! and reductions in the submodules.
//!
//! The IR's operations take scalars, so a vector is worked on component by component. That is what
//! SPIR-V says of reductions, and for data movement and equality it makes no difference.

mod ballot;
mod reduce;
mod shuffle;

use super::componentwise::{self as cw, Class};
use crate::cx::{Cx, Values};
use crate::diag::{Res, code, unsupported};
use crate::reader::Inst;
use phalanx_ir::{self as ir, BinaryOp as B, Builtin, Scope, SubgroupOp as S, Value};
use spirv::Op;

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    if reduce::operation(inst.op).is_some() {
        return reduce::emit(cx, inst);
    }
    match inst.op {
        Op::GroupNonUniformElect => {
            expect_subgroup(cx, inst)?;
            let out = cx.b().value(ir::Op::Subgroup(S::Elect), &[], ir::Type::BOOL);
            cx.define_values(inst, &[out])
        }
        Op::GroupNonUniformAll => vote(cx, inst, S::All, 1),
        Op::GroupNonUniformAny => vote(cx, inst, S::Any, 1),
        Op::SubgroupAllKHR => vote(cx, inst, S::All, 0),
        Op::SubgroupAnyKHR => vote(cx, inst, S::Any, 0),
        Op::GroupNonUniformAllEqual => all_equal(cx, inst, 1),
        Op::SubgroupAllEqualKHR => all_equal(cx, inst, 0),
        Op::GroupNonUniformBroadcast => broadcast(cx, inst, 1),
        Op::SubgroupReadInvocationKHR => broadcast(cx, inst, 0),
        Op::GroupNonUniformBroadcastFirst => broadcast_first(cx, inst, 1),
        Op::SubgroupFirstInvocationKHR => broadcast_first(cx, inst, 0),
        Op::GroupNonUniformBallot
        | Op::SubgroupBallotKHR
        | Op::GroupNonUniformInverseBallot
        | Op::GroupNonUniformBallotBitExtract
        | Op::GroupNonUniformBallotBitCount
        | Op::GroupNonUniformBallotFindLSB
        | Op::GroupNonUniformBallotFindMSB
        | Op::GroupNonUniformPartitionEXT => ballot::emit(cx, inst),
        Op::GroupNonUniformShuffle
        | Op::GroupNonUniformShuffleXor
        | Op::GroupNonUniformShuffleUp
        | Op::GroupNonUniformShuffleDown
        | Op::GroupNonUniformRotateKHR
        | Op::GroupNonUniformQuadBroadcast
        | Op::GroupNonUniformQuadSwap => shuffle::emit(cx, inst),
        Op::GroupNonUniformQuadAllKHR | Op::GroupNonUniformQuadAnyKHR => reduce::quad_vote(cx, inst),
        _ => Err(unsupported(code::OPCODE, format!("{} is not supported", inst.name()))),
    }
}

/// Checks the execution scope, which is the first operand.
fn expect_subgroup(cx: &Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match cx.scope(inst.arg(0)?)? {
        Scope::Subgroup => Ok(()),
        // VUID-StandaloneSpirv-None-04642: group operations are those of subgroups.
        other => Err(unsupported(code::OPERAND, format!("a group operation of scope {}", other.name()))),
    }
}

/// Checks the execution scope if the instruction has one, that is, if its value is operand 1.
fn check_scope(cx: &Cx<'_>, inst: &Inst<'_>, value: usize) -> Res<()> {
    if value == 1 { expect_subgroup(cx, inst) } else { Ok(()) }
}

/// The lane of the invocation.
fn lane(cx: &mut Cx<'_>) -> Value {
    cx.invariant(ir::Op::Builtin(Builtin::SubgroupLane), &[], ir::Type::I32)
}

/// Applies a subgroup operation with further operands to each component.
fn map(cx: &mut Cx<'_>, op: S, x: &[Value], more: &[Value]) -> Values {
    cw::map(x, |x| {
        let ty = cx.func.ty(x);
        let mut args = Values::from_slice(&[x]);
        args.extend_from_slice(more);
        cx.b().value(ir::Op::Subgroup(op), &args, ty)
    })
}

fn vote(cx: &mut Cx<'_>, inst: &Inst<'_>, op: S, value: usize) -> Res<()> {
    check_scope(cx, inst, value)?;
    let x = cw::scalar(cx, inst.arg(value)?, Class::Bool)?;
    let out = map(cx, op, &[x], &[]);
    cx.define_values(inst, &out)
}

fn all_equal(cx: &mut Cx<'_>, inst: &Inst<'_>, value: usize) -> Res<()> {
    check_scope(cx, inst, value)?;
    let x = cw::components(cx, inst.arg(value)?, Class::Any)?;
    let equal = cw::map(&x, |x| cx.b().value(ir::Op::Subgroup(S::AllEqual), &[x], ir::Type::BOOL));
    let out = equal[1..].iter().fold(equal[0], |all, &x| cx.b().binary(B::And, all, x));
    cx.define_values(inst, &[out])
}

fn broadcast(cx: &mut Cx<'_>, inst: &Inst<'_>, value: usize) -> Res<()> {
    check_scope(cx, inst, value)?;
    let x = cw::components(cx, inst.arg(value)?, Class::Any)?;
    let from = cx.index_i32(inst.arg(value + 1)?)?;
    let out = map(cx, S::Broadcast, &x, &[from]);
    cx.define_values(inst, &out)
}

fn broadcast_first(cx: &mut Cx<'_>, inst: &Inst<'_>, value: usize) -> Res<()> {
    check_scope(cx, inst, value)?;
    let x = cw::components(cx, inst.arg(value)?, Class::Any)?;
    let out = map(cx, S::BroadcastFirst, &x, &[]);
    cx.define_values(inst, &out)
}
