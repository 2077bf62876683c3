//! Shuffles, rotations and movement in quads: each is a shuffle from a computed lane.

use super::{expect_subgroup, lane, map};
use crate::cx::Cx;
use crate::diag::{Res, operand};
use crate::ops::componentwise::{self as cw, Class};
use crate::reader::Inst;
use phalanx_ir::{BinaryOp as B, SubgroupOp as S, Value};
use spirv::Op;

/// Translates a movement of data; all have the operands scope, value, and what says whence.
pub(super) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    expect_subgroup(cx, inst)?;
    let x = cw::components(cx, inst.arg(1)?, Class::Any)?;
    let from = source(cx, inst)?;
    let out = map(cx, S::Shuffle, &x, &[from]);
    cx.define_values(inst, &out)
}

/// The lane that the value comes from. One that does not exist gives zero, where SPIR-V leaves the
/// result undefined.
fn source(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<Value> {
    let own = lane(cx);
    if inst.op == Op::GroupNonUniformQuadSwap {
        // Horizontal, vertical and diagonal are 0, 1 and 2.
        let direction = cx.const_u32(inst.arg(2)?)?;
        if direction > 2 {
            return Err(operand(format!("quad direction {direction}, expected 0 to 2")));
        }
        let flip = cx.i32(direction as i32 + 1);
        return Ok(cx.b().binary(B::Xor, own, flip));
    }
    let by = cx.index_i32(inst.arg(2)?)?;
    Ok(match inst.op {
        Op::GroupNonUniformShuffleXor => cx.b().binary(B::Xor, own, by),
        Op::GroupNonUniformShuffleUp => cx.b().binary(B::Isub, own, by),
        Op::GroupNonUniformShuffleDown => cx.b().binary(B::Iadd, own, by),
        Op::GroupNonUniformRotateKHR => {
            let size = rotated(cx, inst)?;
            rotate(cx, own, by, size)
        }
        Op::GroupNonUniformQuadBroadcast => {
            let (quad, first) = (cx.i32(!3), cx.i32(3));
            let base = cx.b().binary(B::And, own, quad);
            let index = cx.b().binary(B::And, by, first);
            cx.b().binary(B::Or, base, index)
        }
        _ => by,
    })
}

/// Lanes that rotate among themselves: *ClusterSize* or all.
fn rotated(cx: &Cx<'_>, inst: &Inst<'_>) -> Res<u32> {
    let all = cx.globals.subgroup_size;
    match inst.args.get(3) {
        None => Ok(all),
        Some(&id) => Ok(super::reduce::cluster_size(cx, id)?.unwrap_or(all)),
    }
}

/// `((lane + delta) & (size - 1)) + (lane & ~(size - 1))` (SPV_KHR_subgroup_rotate).
fn rotate(cx: &mut Cx<'_>, own: Value, delta: Value, size: u32) -> Value {
    let mask = size as i32 - 1;
    let (low, high) = (cx.i32(mask), cx.i32(!mask));
    let moved = cx.b().binary(B::Iadd, own, delta);
    let moved = cx.b().binary(B::And, moved, low);
    let base = cx.b().binary(B::And, own, high);
    cx.b().binary(B::Or, base, moved)
}
