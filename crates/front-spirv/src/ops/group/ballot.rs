//! Ballots: one bit for each lane, in four words, the low lanes first.
//!
//! Reading a ballot considers the bits of existing lanes only, as SPIR-V demands of the counts and
//! searches.

use super::reduce::ballot;
use super::{check_scope, expect_subgroup, lane};
use crate::cx::{Cx, Values};
use crate::diag::{Res, operand};
use crate::ops::componentwise::{self as cw, Class};
use crate::reader::Inst;
use phalanx_ir::{self as ir, BinaryOp as B, CompareOp as C, SubgroupOp as S, UnaryOp as U, Value};
use spirv::{GroupOperation, Op};

/// Translates an instruction that makes or reads a ballot.
pub(super) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match inst.op {
        Op::GroupNonUniformBallot => make(cx, inst, 1),
        Op::SubgroupBallotKHR => make(cx, inst, 0),
        Op::GroupNonUniformPartitionEXT => partition(cx, inst),
        Op::GroupNonUniformInverseBallot => {
            expect_subgroup(cx, inst)?;
            let words = ballot(cx, inst.arg(1)?)?;
            let own = lane(cx);
            let out = bit(cx, &words, own);
            cx.define_values(inst, &[out])
        }
        Op::GroupNonUniformBallotBitExtract => {
            expect_subgroup(cx, inst)?;
            let words = ballot(cx, inst.arg(1)?)?;
            let index = cx.index_i32(inst.arg(2)?)?;
            let out = bit(cx, &words, index);
            cx.define_values(inst, &[out])
        }
        Op::GroupNonUniformBallotBitCount => bit_count(cx, inst),
        Op::GroupNonUniformBallotFindLSB => find(cx, inst, U::FindLsb),
        _ => find(cx, inst, U::FindUMsb),
    }
}

const BALLOT: [ir::Type; 4] = [ir::Type::I32; 4];

fn make(cx: &mut Cx<'_>, inst: &Inst<'_>, value: usize) -> Res<()> {
    check_scope(cx, inst, value)?;
    let x = cw::scalar(cx, inst.arg(value)?, Class::Bool)?;
    let out = cx.b().values(ir::Op::Subgroup(S::Ballot), &[x], &BALLOT);
    cx.define_values(inst, &out)
}

/// *OpGroupNonUniformPartitionEXT*: the lanes whose values are equal. Vectors are equal where all
/// their components are.
fn partition(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let x = cw::components(cx, inst.arg(0)?, Class::Any)?;
    let mut out: Option<Values> = None;
    for x in x {
        let same = cx.b().values(ir::Op::Subgroup(S::Partition), &[x], &BALLOT);
        out = Some(match out {
            None => Values::from_slice(&same),
            Some(all) => cw::zip(&all, &same, |a, b| cx.b().binary(B::And, a, b)),
        });
    }
    cx.define_values(inst, &out.unwrap_or_default())
}

/// Words of a ballot that have bits of existing lanes.
fn used_words(cx: &Cx<'_>) -> usize {
    cx.globals.subgroup_size.div_ceil(32).min(4) as usize
}

/// Whether the bit of a lane is set.
fn bit(cx: &mut Cx<'_>, words: &[Value], lane: Value) -> Value {
    let mut word = words[0];
    if used_words(cx) > 1 {
        let five = cx.i32(5);
        let index = cx.b().binary(B::Lshr, lane, five);
        for (i, &candidate) in words.iter().enumerate().take(used_words(cx)).skip(1) {
            let i = cx.i32(i as i32);
            let here = cx.b().compare(C::Ieq, index, i);
            word = cx.b().select(here, candidate, word);
        }
    }
    // Shift counts are taken modulo 32.
    let shifted = cx.b().binary(B::Lshr, word, lane);
    let (one, zero) = (cx.i32(1), cx.i32(0));
    let bit = cx.b().binary(B::And, shifted, one);
    cx.b().compare(C::Ine, bit, zero)
}

/// The words of a ballot operand without bits of lanes that do not exist.
fn existing(cx: &mut Cx<'_>, words: &[Value]) -> Values {
    let size = cx.globals.subgroup_size;
    if size >= 32 {
        return Values::from_slice(&words[..used_words(cx)]);
    }
    let mask = cx.i32((1 << size) - 1);
    Values::from_slice(&[cx.b().binary(B::And, words[0], mask)])
}

/// Scope, group operation, ballot.
fn bit_count(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    expect_subgroup(cx, inst)?;
    let number = inst.arg(1)?;
    let words = ballot(cx, inst.arg(2)?)?;
    let words = existing(cx, &words);
    let words = match GroupOperation::from_u32(number) {
        Some(GroupOperation::Reduce) => words,
        Some(GroupOperation::InclusiveScan) => up_to_lane(cx, &words, true),
        Some(GroupOperation::ExclusiveScan) => up_to_lane(cx, &words, false),
        _ => return Err(operand(format!("group operation {number} on a ballot, expected 0 to 2"))),
    };
    let counts = cw::map(&words, |w| cx.b().unary(U::BitCount, w));
    let sum = counts[1..].iter().fold(counts[0], |sum, &n| cx.b().binary(B::Iadd, sum, n));
    let to = cw::result_scalar(cx, inst, Class::Int)?;
    let sum = cw::resize(cx, sum, to, false);
    cx.define_values(inst, &[sum])
}

/// Keeps the bits of the lanes below the own one, and its own if `inclusive`.
fn up_to_lane(cx: &mut Cx<'_>, words: &[Value], inclusive: bool) -> Values {
    let own = lane(cx);
    let (one, zero, ones) = (cx.i32(1), cx.i32(0), cx.i32(-1));
    // In the word of the own lane: (1 << lane) - 1 has the bits below it; (2 << lane) - 1 its own,
    // too, and is all ones for lane 31, where the shift drops the bit.
    let first = if inclusive { cx.i32(2) } else { one };
    let power = cx.b().binary(B::Shl, first, own);
    let partial = cx.b().binary(B::Isub, power, one);
    let mut out = Values::new();
    for (i, &word) in words.iter().enumerate() {
        let mut mask = partial;
        if words.len() > 1 {
            let (start, end) = (cx.i32(32 * i as i32), cx.i32(32 * i as i32 + 32));
            let above = cx.b().compare(C::Ult, own, start);
            let below = cx.b().compare(C::Ule, end, own);
            mask = cx.b().select(above, zero, mask);
            mask = cx.b().select(below, ones, mask);
        }
        out.push(cx.b().binary(B::And, word, mask));
    }
    out
}

/// Scope, ballot. The result is undefined if no bit is set; here it is all ones.
fn find(cx: &mut Cx<'_>, inst: &Inst<'_>, op: U) -> Res<()> {
    expect_subgroup(cx, inst)?;
    let words = ballot(cx, inst.arg(1)?)?;
    let words = existing(cx, &words);
    let zero = cx.i32(0);
    let mut found = cx.i32(-1);
    // The word that decides is looked at last.
    let mut order: Vec<usize> = (0..words.len()).collect();
    if op == U::FindLsb {
        order.reverse();
    }
    for i in order {
        let base = cx.i32(32 * i as i32);
        let index = cx.b().unary(op, words[i]);
        let index = if i == 0 { index } else { cx.b().binary(B::Iadd, index, base) };
        let any = cx.b().compare(C::Ine, words[i], zero);
        found = cx.b().select(any, index, found);
    }
    let to = cw::result_scalar(cx, inst, Class::Int)?;
    let found = cw::resize(cx, found, to, false);
    cx.define_values(inst, &[found])
}
