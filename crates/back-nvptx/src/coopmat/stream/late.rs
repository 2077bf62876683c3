//! An addend that is added behind its loop.
//!
//! A loop that adds products to sums begins as soon as the first slot is full, if the sums begin with zeros: what they
//! would begin with is loaded and added behind the loop. Of integers the sum is the same; of products of narrow floats
//! docs/ir.md, *Floating point*, allows that. Sums that are halves themselves begin as they are written.

use super::Role;
use super::multiply::FENCE;
use super::plan::{Places, Plan, chain, factor, instructions, is_pure};
use crate::coopmat::has_components;
use crate::lower::Lower;
use phalanx_emit_llvm::Result;
use phalanx_ir::{Inst, Label, Op, Scalar, Space, Type, Var};

/// What a loop's sums would begin with.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    /// The variable with the sums, and the loop.
    var: Var,
    around: Inst,
    /// What is executed behind the loop instead of where it is, in order; the last stores to the variable.
    statements: Vec<Inst>,
    /// Within: what makes the addend, and what moves it.
    fills: Vec<Inst>,
    moves: Vec<Inst>,
}

impl Late {
    /// The addend of the only product of a module, if it is loaded and can as well be loaded behind the loop.
    pub(super) fn of(places: &Places<'_>, plan: &Plan) -> Option<Self> {
        let f = places.f;
        let [stream] = &plan.streams[..] else { return None };
        let sums = f.ty(f.inst(stream.mul_add).results[0]).mat()?;
        if sums.elem.bits() != 32 || plan.turns.is_some() || plan.delay.is_some() {
            return None;
        }
        let (var, around) = chain(places, stream.mul_add)?;
        let (block, loop_number) = places.of[around.index()]?;
        let touches = |&inst: &Inst| f.inst(inst).op.vars().any(|(v, _)| v == var);
        let store = places.order.get(..loop_number)?.iter().copied().rev().find(touches)?;
        let here = places.of[store.index()]?;
        let [value] = f.inst(store).args[..] else { return None };
        if here.0 != block || f.inst(store).op != Op::VarStore(var) || has_components(f, var) {
            return None;
        }
        let parts = factor(places, store, value, here)?;
        let is_loaded = parts.fills.iter().any(|&fill| matches!(f.inst(fill).op, Op::MatLoad { .. }));
        let is_here = |&inst: &Inst| places.of[inst.index()].is_some_and(|(b, _)| b == block);
        let own = parts.moves.iter().copied().filter(is_here);
        let statements: Vec<Inst> = [parts.first].into_iter().chain(own).chain([store]).collect();
        if !statements.iter().all(is_here) {
            return None;
        }
        let late = Self { var, around, statements, fills: parts.fills, moves: parts.moves };
        (is_loaded && late.can_wait(places)?).then_some(late)
    }

    /// Whether an instruction is executed behind the loop.
    fn has(&self, inst: Inst) -> bool {
        [&self.statements, &self.fills, &self.moves].into_iter().any(|all| all.contains(&inst))
    }

    /// Whether what is executed later does the same there.
    fn can_wait(&self, places: &Places<'_>) -> Option<bool> {
        let f = places.f;
        let number = |inst: Inst| places.of[inst.index()].map(|(_, number)| number);
        let (first, loop_number) = (number(*self.statements.first()?)?, number(self.around)?);
        let last = f.inst(self.around).op.bodies().filter_map(|body| places.end.get(body.index())).max()?;
        let (before, within) = (places.order.get(first..loop_number)?, places.order.get(loop_number..*last)?);
        // The loop comes behind it, and what is behind the loop is not left out. A barrier would order what is loaded.
        let labels: Vec<_> = within.iter().filter_map(|&inst| label(&f.inst(inst).op)).collect();
        let goes_on = |&inst: &Inst| !matches!(f.inst(inst).op, Op::Return | Op::Barrier(_));
        let stays = |&inst: &Inst| !matches!(f.inst(inst).op, Op::Br(to) if !labels.contains(&to));
        let is_straight = before.iter().all(|inst| goes_on(inst) && !matches!(f.inst(*inst).op, Op::Br(_)));
        if !is_straight || !within.iter().all(|inst| goes_on(inst) && stays(inst)) {
            return Some(false);
        }
        // All that is executed later, with what is inside of it.
        let mut all = self.statements.clone();
        for &statement in &self.statements {
            f.inst(statement).op.bodies().for_each(|body| instructions(f, body, &mut all));
        }
        let touching = |v: Var| {
            let touches = move |&&inst: &&Inst| f.inst(inst).op.vars().any(|(other, _)| other == v);
            places.order.iter().filter(touches)
        };
        let is_own = |v: Var| touching(v).all(|inst| all.contains(inst));
        let is_kept = |v: Var| {
            let is_change = |inst: &Inst| f.inst(*inst).op != Op::VarLoad(v);
            let is_between = |inst: &Inst| before.contains(inst) || within.contains(inst);
            !touching(v).any(|inst| is_change(inst) && is_between(inst))
        };
        Some(all.iter().all(|&inst| {
            let info = f.inst(inst);
            let is_shared = info.args.iter().any(|&v| f.ty(v) == Type::Ptr(Space::Shared));
            let does_the_same = match info.op {
                Op::Br(_) | Op::Return => false,
                Op::VarLoad(v) => is_own(v) || is_kept(v),
                Op::VarStore(v) => is_own(v),
                _ => is_pure(f, inst) || info.op == Op::MatSplat,
            };
            !is_shared && (self.has(inst) || does_the_same)
        }))
    }
}

fn label(op: &Op) -> Option<Label> {
    match op {
        Op::Loop { label, .. } | Op::Block { label, .. } => Some(*label),
        _ => None,
    }
}

impl<'c> Lower<'_, 'c> {
    /// What an invocation does about an instruction that is executed behind its loop; nothing if it is lowered as ever.
    pub(super) fn lower_late(&mut self, inst: Inst) -> Result<Option<()>> {
        let ring = self.ring()?;
        let Some(late) = ring.plan.late.as_ref().filter(|late| late.has(inst)) else { return Ok(None) };
        let (var, is_last, adds) = (late.var, late.statements.last() == Some(&inst), ring.adds_late);
        let (f, info) = (self.f, self.f.inst(inst));
        match info.op {
            _ if !adds => {
                if is_last {
                    self.begin_with_zeros(var)?;
                }
                Ok(Some(()))
            }
            Op::MatLoad { .. } => self.mat_load_and_add(inst, var).map(Some),
            // What was loaded is added already.
            Op::VarStore(_) => match info.args[..] {
                [value] if matches!(f.def(value).op, Op::MatMap { .. }) => {
                    self.add_rarely(var, value).map(Some)
                }
                _ => Ok(Some(())),
            },
            Op::VarLoad(_) => Ok(Some(())),
            _ => Ok(None),
        }
    }

    /// Of floats with negative ones, to which adding anything gives that. `ptxas` puts constants into registers where they are
    /// multiplied first, in a branch, and then waits for each multiplication; so they go through a fence here.
    fn begin_with_zeros(&mut self, var: Var) -> Result<()> {
        let elem = self.f.var(var).ty.mat().map(|m| m.elem);
        let zero = match elem {
            Some(Scalar::F32) => self.e.scalar_const(Scalar::F32, u64::from((-0.0_f32).to_bits())),
            _ => self.e.i32(0),
        };
        self.change_words(var, |l, words| l.update(FENCE, &vec![zero; words.len()], &[]))
    }

    /// Behind a loop: adds what its sums would have begun with.
    pub(crate) fn add_late(&mut self, around: Inst) -> Result<()> {
        let Some(ring) = self.ring.as_mut().filter(|ring| ring.role == Role::Multiply) else {
            return Ok(());
        };
        let Some(late) = ring.plan.late.as_ref().filter(|late| late.around == around) else { return Ok(()) };
        let statements = late.statements.clone();
        ring.adds_late = true;
        for inst in statements {
            self.inst(inst)?;
        }
        if let Some(ring) = &mut self.ring {
            ring.adds_late = false;
        }
        Ok(())
    }
}
