//! Structured control flow: `scf`, and `affine.for` and `affine.if` after their bounds are computed.
//!
//! What a loop carries and what a branch gives goes through variables.

use phalanx_ir::{BinaryOp as B, CompareOp as C, Scalar, Value};

use super::attr;
use super::cx::Cx;
use super::value::{Slots, Val};
use crate::ast::{Block, Op, Region};
use crate::error::{Res, invalid, not_built};

/// Translates an operation of the dialect.
pub(super) fn emit<'a>(cx: &mut Cx<'a>, op: &'a Op) -> Res<()> {
    match &*op.name {
        "scf.for" => {
            let (low, high, step) = (cx.value(op, 0)?, cx.value(op, 1)?, cx.value(op, 2)?);
            let inits = (3..op.operands.len()).map(|i| cx.arg(op, i)).collect::<Res<Vec<_>>>()?;
            for_loop(cx, op, [low, high, step], inits, attr::flag(op, "unsignedCmp"))
        }
        "scf.if" => {
            let condition = cx.value_of(op, 0, Scalar::Bool)?;
            branch(cx, op, condition)
        }
        "scf.while" => while_loop(cx, op),
        "scf.index_switch" => index_switch(cx, op),
        "scf.execute_region" => {
            let results = op.results.iter().map(|&id| cx.ty(id).cloned()).collect::<Res<Vec<_>>>()?;
            let slots = results.iter().map(|ty| cx.slots(ty)).collect::<Res<Vec<_>>>()?;
            cx.deeper(|cx| cx.body(region(op, 0)?, Vec::new(), "scf.yield", &slots))?;
            let vals = slots.iter().map(|slots| cx.load(slots)).collect();
            cx.define(op, vals)
        }
        _ => Err(not_built()),
    }
}

/// A region of an operation.
pub(super) fn region(op: &Op, i: usize) -> Res<&Region> {
    op.regions.get(i).ok_or_else(|| invalid(format!("expected more than {} regions", op.regions.len())))
}

/// The one block of a region.
pub(super) fn single_block(region: &Region) -> Res<&Block> {
    match &region.blocks[..] {
        [block] => Ok(block),
        blocks => Err(invalid(format!("a region of {} blocks, expected one", blocks.len()))),
    }
}

impl<'a> Cx<'a> {
    /// Translates a region of one block whose terminator writes variables.
    fn body(&mut self, region: &'a Region, args: Vec<Val>, end: &str, slots: &[Slots]) -> Res<()> {
        let block = single_block(region)?;
        let mark = self.enter();
        self.parameters(&block.args, args)?;
        let last = self.block_ops(&block.ops)?;
        self.at(last, |cx| {
            if &*last.name != end {
                return Err(invalid(format!("expected {end} at the end of the region")));
            }
            let vals = cx.handed_over(last, slots.len())?;
            slots.iter().zip(&vals).try_for_each(|(slots, val)| cx.store(slots, val))
        })?;
        self.leave(mark);
        Ok(())
    }

    /// Variables for the results of an operation.
    fn result_slots(&mut self, op: &Op) -> Res<Vec<Slots>> {
        op.results
            .iter()
            .map(|&id| {
                let ty = self.ty(id)?;
                self.slots(ty)
            })
            .collect()
    }
}

/// What the terminator of a region of this operation is.
fn terminator(op: &Op) -> &'static str {
    if op.name.starts_with("affine.") { "affine.yield" } else { "scf.yield" }
}

/// A loop from a number to below another one.
pub(super) fn for_loop<'a>(
    cx: &mut Cx<'a>,
    op: &'a Op,
    [low, high, step]: [Value; 3],
    inits: Vec<Val>,
    unsigned: bool,
) -> Res<()> {
    let scalar = super::arith::scalar_of(cx, low)?;
    if !scalar.is_int() || [high, step].iter().any(|&v| cx.func.ty(v) != scalar.into()) {
        return Err(invalid("bounds and step of different types"));
    }
    let slots = cx.result_slots(op)?;
    if slots.len() != inits.len() {
        let (found, expected) = (inits.len(), slots.len());
        return Err(invalid(format!("{found} initial values, expected {expected}")));
    }
    slots.iter().zip(&inits).try_for_each(|(slots, init)| cx.store(slots, init))?;
    let counter = cx.func.new_var(scalar.into(), 1, "");
    cx.b().var_store(counter, None, low);
    let body = region(op, 0)?;
    cx.deeper(|cx| {
        cx.repeat(|cx, label| {
            let i = cx.b().var_load(counter, None);
            let more = cx.b().compare(if unsigned { C::Ult } else { C::Slt }, i, high);
            cx.fork(
                more,
                |cx| {
                    let mut args = vec![Val::one(i)];
                    args.extend(slots.iter().map(|slots| cx.load(slots)));
                    cx.body(body, args, terminator(op), &slots)?;
                    let next = cx.b().binary(B::Iadd, i, step);
                    cx.b().var_store(counter, None, next);
                    cx.b().br(label);
                    Ok(())
                },
                |_| Ok(()),
            )
        })
    })?;
    let results = slots.iter().map(|slots| cx.load(slots)).collect();
    cx.define(op, results)
}

/// One of two regions; the second may be empty.
pub(super) fn branch<'a>(cx: &mut Cx<'a>, op: &'a Op, condition: Value) -> Res<()> {
    let slots = cx.result_slots(op)?;
    let (then, otherwise) = (region(op, 0)?, op.regions.get(1).filter(|r| !r.blocks.is_empty()));
    if otherwise.is_none() && !slots.is_empty() {
        return Err(invalid("gives results, but has no `else`"));
    }
    cx.deeper(|cx| {
        cx.fork(
            condition,
            |cx| cx.body(then, Vec::new(), terminator(op), &slots),
            |cx| match otherwise {
                Some(region) => cx.body(region, Vec::new(), terminator(op), &slots),
                None => Ok(()),
            },
        )
    })?;
    let results = slots.iter().map(|slots| cx.load(slots)).collect();
    cx.define(op, results)
}

fn while_loop<'a>(cx: &mut Cx<'a>, op: &'a Op) -> Res<()> {
    let results = cx.result_slots(op)?;
    let inits = (0..op.operands.len()).map(|i| cx.arg(op, i)).collect::<Res<Vec<_>>>()?;
    let (before, after) = (single_block(region(op, 0)?)?, region(op, 1)?);
    if before.args.len() != inits.len() {
        let (found, expected) = (inits.len(), before.args.len());
        return Err(invalid(format!("{found} initial values, expected {expected}")));
    }
    let mut carried = Vec::with_capacity(inits.len());
    for (&id, init) in before.args.iter().zip(&inits) {
        let ty = cx.ty(id)?;
        let slots = cx.slots(ty)?;
        cx.store(&slots, init)?;
        carried.push(slots);
    }
    cx.deeper(|cx| {
        cx.repeat(|cx, label| {
            let mark = cx.enter();
            let args = carried.iter().map(|slots| cx.load(slots)).collect();
            cx.parameters(&before.args, args)?;
            let last = cx.block_ops(&before.ops)?;
            let (condition, vals) = cx.at(last, |cx| {
                if &*last.name != "scf.condition" || last.operands.is_empty() {
                    return Err(invalid("expected scf.condition at the end of the first region"));
                }
                let condition = cx.value_of(last, 0, Scalar::Bool)?;
                let vals = (1..last.operands.len()).map(|i| cx.arg(last, i)).collect::<Res<Vec<_>>>()?;
                Ok((condition, vals))
            })?;
            if vals.len() != results.len() {
                let (found, expected) = (vals.len(), results.len());
                return Err(invalid(format!("hands over {found} values, expected {expected}")));
            }
            let handed = vals.clone();
            cx.fork(
                condition,
                |cx| {
                    cx.body(after, handed, "scf.yield", &carried)?;
                    cx.b().br(label);
                    Ok(())
                },
                |cx| results.iter().zip(&vals).try_for_each(|(slots, val)| cx.store(slots, val)),
            )?;
            cx.leave(mark);
            Ok(())
        })
    })?;
    let vals = results.iter().map(|slots| cx.load(slots)).collect();
    cx.define(op, vals)
}

/// A region for each case behind the first one, which is for all others.
fn index_switch<'a>(cx: &mut Cx<'a>, op: &'a Op) -> Res<()> {
    let selector = cx.value_of(op, 0, Scalar::I64)?;
    let cases = attr::ints(op, "cases")?;
    if op.regions.len() != cases.len() + 1 {
        let (found, expected) = (op.regions.len(), cases.len() + 1);
        return Err(invalid(format!("{found} regions, expected {expected}")));
    }
    let slots = cx.result_slots(op)?;
    // What says that no case was met. A row of branches keeps the nesting small.
    let other = cx.func.new_var(phalanx_ir::Type::BOOL, 1, "");
    let yes = cx.b().bool(true);
    cx.b().var_store(other, None, yes);
    for (&case, region) in cases.iter().zip(&op.regions[1..]) {
        let case = cx.b().i64(case);
        let is_met = cx.b().compare(C::Ieq, selector, case);
        cx.deeper(|cx| {
            cx.fork(
                is_met,
                |cx| {
                    let no = cx.b().bool(false);
                    cx.b().var_store(other, None, no);
                    cx.body(region, Vec::new(), "scf.yield", &slots)
                },
                |_| Ok(()),
            )
        })?;
    }
    let is_other = cx.b().var_load(other, None);
    cx.deeper(|cx| {
        let default = region(op, 0)?;
        cx.fork(is_other, |cx| cx.body(default, Vec::new(), "scf.yield", &slots), |_| Ok(()))
    })?;
    let vals = slots.iter().map(|slots| cx.load(slots)).collect();
    cx.define(op, vals)
}
