//! An addend that is added behind its loop.
//!
//! A loop that adds products to sums begins as soon as the first slot is full, if the sums begin with zeros: what they
//! would begin with is loaded and added behind the loop. Of integers the sum is the same; of products of narrow floats
//! docs/ir.md, *Floating point*, allows that. Sums that are halves themselves begin as they are written.

use super::Role;
use super::ask::Asks;
use super::multiply::FENCE;
use super::plan::{Places, Plan, chain, factor, instructions, is_pure, label};
use crate::coopmat::has_components;
use crate::coopmat::rows::Addend;
use crate::lower::Lower;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::{Inst, Op, Scalar, Space, Type, Var};

/// What a loop's sums would begin with.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    /// The variable with the sums, and the loop.
    pub(super) var: Var,
    around: Inst,
    /// What is executed behind the loop instead of where it is, in order; the last stores to the variable.
    statements: Vec<Inst>,
    /// Within: what makes the addend, and what moves it.
    fills: Vec<Inst>,
    moves: Vec<Inst>,
}

/// For what the statements of an addend are lowered.
#[derive(Clone, Debug)]
pub(crate) enum Lowered<'c> {
    /// To ask for it in the rounds of the loop.
    Asked(Asks<'c>),
    /// To add it.
    Added(Addend<'c>),
}

/// Sums that a loop begins with zeros.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blank {
    var: Var,
    /// What stores the zeros.
    store: Inst,
}

impl Blank {
    /// The sums of the only product of a module, if nothing comes between the zeros and its loop.
    pub(super) fn of(places: &Places<'_>, plan: &Plan) -> Option<Self> {
        let f = places.f;
        let [stream] = &plan.streams[..] else { return None };
        let (var, around) = chain(places, stream.mul_add).filter(|_| stream.is_chained)?;
        let store = stored_before(places, var, around)?;
        let [value] = f.inst(store).args[..] else { return None };
        let Op::MatSplat = f.def(value).op else { return None };
        let is_zero = f.const_bits(f.def(value).args[0]) == Some(0);
        gone_through(places, store, around)?;
        (is_zero && !has_components(f, var)).then_some(Self { var, store })
    }
}

/// What stores to a variable before a loop, in the loop's block, if it is the last that touches the variable there.
fn stored_before(places: &Places<'_>, var: Var, around: Inst) -> Option<Inst> {
    let f = places.f;
    let (block, number) = places.of[around.index()]?;
    let touches = |&inst: &Inst| f.inst(inst).op.vars().any(|(v, _)| v == var);
    let store = places.order.get(..number)?.iter().copied().rev().find(touches)?;
    let (here, _) = places.of[store.index()]?;
    (here == block && f.inst(store).op == Op::VarStore(var)).then_some(store)
}

/// What is executed from an instruction to a loop, and within the loop, where nothing in it or before it is but gone through to
/// what is behind. A barrier would order what is loaded.
fn gone_through<'a>(places: &'a Places<'_>, first: Inst, around: Inst) -> Option<[&'a [Inst]; 2]> {
    let f = places.f;
    let (first, loop_number) = (places.number(first)?, places.number(around)?);
    let last = f.inst(around).op.bodies().filter_map(|body| places.end.get(body.index())).max()?;
    let (before, within) = (places.order.get(first..loop_number)?, places.order.get(loop_number..*last)?);
    let labels: Vec<_> = within.iter().filter_map(|&inst| label(&f.inst(inst).op)).collect();
    let goes_on = |&inst: &Inst| !matches!(f.inst(inst).op, Op::Return | Op::Barrier(_));
    let stays = |&inst: &Inst| !matches!(f.inst(inst).op, Op::Br(to) if !labels.contains(&to));
    let is_straight = before.iter().all(|inst| goes_on(inst) && !matches!(f.inst(*inst).op, Op::Br(_)));
    (is_straight && within.iter().all(|inst| goes_on(inst) && stays(inst))).then_some([before, within])
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
        let (block, _) = places.of[around.index()]?;
        let store = stored_before(places, var, around)?;
        let here = places.of[store.index()]?;
        let [value] = f.inst(store).args[..] else { return None };
        if has_components(f, var) {
            return None;
        }
        let parts = factor(places, store, value, here)?;
        let is_loaded = parts.fills.iter().any(|&fill| matches!(f.inst(fill).op, Op::MatLoad { .. }));
        // Only rows are moved by one piece of code, wherever they lie.
        let is_by_columns = |fill: &Inst| matches!(f.inst(*fill).op, Op::MatLoad { column_major: true, .. });
        if parts.fills.iter().any(is_by_columns) {
            return None;
        }
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
        let Some([before, within]) = gone_through(places, *self.statements.first()?, self.around) else {
            return Some(false);
        };
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

impl<'c> Lower<'_, 'c> {
    /// What an invocation does about an instruction that is executed behind its loop; nothing if it is lowered as ever.
    pub(super) fn lower_late(&mut self, inst: Inst) -> Result<Option<()>> {
        let ring = self.ring()?;
        if let Some(blank) = ring.plan.blank.filter(|blank| blank.store == inst) {
            return self.forget_words(blank.var).map(Some);
        }
        let Some(late) = ring.plan.late.as_ref().filter(|late| late.has(inst)) else { return Ok(None) };
        let (var, is_last) = (late.var, late.statements.last() == Some(&inst));
        let Some(lowered) = ring.addend.clone() else {
            if is_last && self.begins_with_products() {
                let late = late.clone();
                self.start_asking(&late)?;
                self.forget_words(var)?;
            } else if is_last {
                self.begin_with_zeros(var)?;
            }
            return Ok(Some(()));
        };
        match (&self.f.inst(inst).op, lowered) {
            (Op::MatLoad { .. }, Lowered::Asked(asks)) => self.find_part(inst, asks).map(Some),
            (Op::MatLoad { .. }, Lowered::Added(addend)) => self.load_addend(inst, &addend).map(Some),
            (&Op::MatMap { body }, Lowered::Added(addend)) => self.map_addend(inst, body, &addend).map(Some),
            (Op::VarStore(_), Lowered::Added(addend)) if is_last => self.add(&addend, var).map(Some),
            (Op::MatMap { .. } | Op::VarStore(_) | Op::VarLoad(_), _) => Ok(Some(())),
            _ => Ok(None),
        }
    }

    /// Whether the first products of a loop are its sums, which would begin with zeros. Then `ptxas` sees no sums that meet
    /// others at the head of the loop, and the first round needs no code of its own.
    pub(crate) fn begins_with_products(&self) -> bool {
        let is_chained = |plan: &Plan| plan.streams.iter().all(|stream| stream.is_chained);
        let is_empty = |plan: &Plan| plan.late.is_some() || plan.blank.is_some();
        self.ring.as_ref().is_some_and(|ring| is_empty(&ring.plan) && is_chained(&ring.plan))
    }

    /// Whether a product is added to sums: not where it is the first of a loop that begins with products.
    pub(super) fn adds_to_sums(&mut self) -> Result<V<'c>> {
        match self.begins_with_products() {
            true => self.number(self.ring()?.behind[1]),
            false => Ok(self.e.i32(1)),
        }
    }

    /// What is added behind the loop is added to negative zeros of floats, as adding anything gives that then. `ptxas` puts
    /// constants into registers where they are multiplied first, in a branch, and then waits for each multiplication; so
    /// they go through a fence here.
    pub(super) fn begin_with_zeros(&mut self, var: Var) -> Result<()> {
        let elem = self.f.var(var).ty.mat().map(|m| m.elem);
        let zero = match elem {
            Some(Scalar::F32) if self.ring()?.plan.blank.is_none() => -0.0_f32,
            _ => 0.0,
        };
        let zero = match elem {
            Some(Scalar::F32) => self.e.scalar_const(Scalar::F32, u64::from(zero.to_bits())),
            _ => self.e.i32(0),
        };
        self.change_words(var, |l, words| l.update(FENCE, &vec![zero; words.len()], &[]))
    }

    /// Behind a loop: adds what its sums would have begun with.
    pub(crate) fn add_late(&mut self, around: Inst) -> Result<()> {
        let Some(ring) = self.ring.as_ref().filter(|ring| ring.role == Role::Multiply) else {
            return Ok(());
        };
        let Some(late) = ring.plan.late.as_ref().filter(|late| late.around == around) else { return Ok(()) };
        let late = late.clone();
        let addend = self.start_addend(late.var)?;
        self.lower_statements(&late, Lowered::Added(addend))
    }

    /// Lowers what an addend is made by.
    pub(super) fn lower_statements(&mut self, late: &Late, lowered: Lowered<'c>) -> Result<()> {
        self.set_lowered(Some(lowered));
        for &inst in &late.statements {
            self.inst(inst)?;
        }
        self.set_lowered(None);
        Ok(())
    }

    fn set_lowered(&mut self, lowered: Option<Lowered<'c>>) {
        if let Some(ring) = &mut self.ring {
            ring.addend = lowered;
        }
    }
}
