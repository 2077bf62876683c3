//! A second product of a round that is begun in the next, behind the first product there.
//!
//! Where a round multiplies, computes with the sums and multiplies what it computed, as attention does, the second product
//! could go on while the next round computes, but would be waited for together with the first product of that round, which is
//! begun after it. So it is put off: its left factor and its sums stay in registers, and its slot full, until the next round
//! has begun its first product. Sums that a loop adds to are first looked at when the next round has computed its own.
//!
//! ```text
//! as written                       as done
//! S = Q * K ; wait                 S = Q * K ; O = P * V + O of the round before ; wait for S
//! P = f(S)                         P = f(S)
//!                                  wait for O
//! O = P * V + g(O) ; wait          g(O)
//! ```
//!
//! Behind the loop comes the product that the last round has put off.

use super::multiply::WAIT_FOR_ALL;
use super::plan::{Places, Plan};
use super::turns::leaves;
use crate::lower::Lower;
use inkwell::IntPredicate;
use inkwell::values::PointerValue;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::{Inst, Op, Var};

/// What is put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delay {
    /// The loop behind which nothing is put off any more.
    pub(super) around: Inst,
    /// The product before which the one of the round before is put off to.
    pub(super) first: Inst,
    /// The product that is put off.
    pub(super) second: Inst,
    /// The variable with its sums, and where a round looks at it.
    pub(super) var: Var,
    pub(super) load: Inst,
}

impl Delay {
    /// What can be put off: of two products in each round of a loop the second, if its sums go to a variable that the round looks
    /// at once, between the two.
    pub(super) fn of(places: &Places<'_>, plan: &Plan) -> Option<Self> {
        let f = places.f;
        let [first, second] = &plan.streams[..] else { return None };
        let is_promoted = first.is_promoted() || second.is_promoted();
        if first.is_chained || second.is_chained || second.a.is_some() || is_promoted {
            return None;
        }
        let (first, second) = (first.mul_add, second.mul_add);
        let around = places.round(first, second)?;
        let users = places.users(f.inst(second).results[0]);
        let [store] = users[..] else { return None };
        let Op::VarStore(var) = f.inst(store).op else { return None };
        let within = |&inst: &Inst| places.around(inst).any(|outer| outer == around);
        let touches = |&inst: &Inst| f.inst(inst).op.vars().any(|(v, _)| v == var);
        let inside: Vec<Inst> = places.order.iter().copied().filter(|i| within(i) && touches(i)).collect();
        let [load, last] = inside[..] else { return None };
        let number = |inst: Inst| places.of[inst.index()];
        let is_order = number(first)? < number(load)? && number(load)? < number(second)?;
        let is_block = number(load)?.0 == number(first)?.0 && number(store)?.0 == number(first)?.0;
        let is_whole = f.var(var).count == 1 && f.inst(load).op == Op::VarLoad(var) && last == store;
        let has_way_out =
            places.order[number(second)?.1..number(store)?.1].iter().any(|&inst| leaves(f, inst));
        (is_order && is_block && is_whole && !has_way_out).then_some(Self {
            around,
            first,
            second,
            var,
            load,
        })
    }
}

/// What a thread keeps of the product that is put off.
#[derive(Clone, Debug)]
pub(super) struct Kept<'c> {
    /// Whether there is one that has not been waited for.
    is_one: PointerValue<'c>,
    /// Its slot, and the phase of its word.
    pub(super) slot: [PointerValue<'c>; 2],
    /// The words of its left factor.
    left: Vec<PointerValue<'c>>,
}

impl<'c> Lower<'_, 'c> {
    /// Begins without one.
    pub(super) fn start_delay(&mut self, delay: Delay) -> Result<Kept<'c>> {
        let ty = self.e.cx.i32_type();
        let a = self.mat_ty(self.f.inst(delay.second).args[0])?;
        let share = self.share_of(a).layout;
        let words = share.registers() / share.pack(a.elem);
        let cell = |l: &Self| {
            let at = l.reserve(ty)?;
            l.e.b.build_store(at, l.e.i32(0))?;
            Ok(at)
        };
        let left = (0..words).map(|_| cell(self)).collect::<Result<_>>()?;
        Ok(Kept { is_one: cell(self)?, slot: [cell(self)?, cell(self)?], left })
    }

    /// What is put off, and what is kept of it.
    fn delay(&self) -> Result<Option<(Delay, Kept<'c>)>> {
        let ring = self.ring()?;
        Ok(ring.plan.delay.zip(ring.kept.clone()))
    }

    /// Whether an instruction looks at the sums of what is put off.
    pub(super) fn looks_at_delayed(&self, inst: Inst) -> Result<bool> {
        Ok(self.ring()?.plan.delay.is_some_and(|delay| delay.load == inst))
    }

    /// Puts a product off whose factor in the ring is the one that this thread is at.
    pub(super) fn put_off(&mut self, left: &[V<'c>]) -> Result<()> {
        let Some((_, kept)) = self.delay()? else { return Ok(()) };
        for (&at, &word) in kept.left.iter().zip(left) {
            self.e.b.build_store(at, word)?;
        }
        let at = self.ring()?.at;
        for (from, to) in at.into_iter().zip(kept.slot) {
            let x = self.number(from)?;
            self.e.b.build_store(to, x)?;
        }
        self.e.b.build_store(kept.is_one, self.e.i32(1))?;
        self.advance()
    }

    fn is_put_off(&mut self, kept: &Kept<'c>) -> Result<V<'c>> {
        let is_one = self.number(kept.is_one)?;
        self.e.icmp(IntPredicate::NE, is_one, self.e.i32(0))
    }

    fn left_of(&mut self, kept: &Kept<'c>) -> Result<Vec<V<'c>>> {
        kept.left.iter().map(|&at| self.number(at)).collect()
    }

    /// Waits for the slot of the product that is put off, if there is one.
    pub(super) fn wait_for_delayed(&mut self) -> Result<()> {
        let Some((_, kept)) = self.delay()? else { return Ok(()) };
        let is_one = self.is_put_off(&kept)?;
        self.either(is_one, |l| l.wait_full_at(kept.slot).map(|()| Vec::new()), |_| Ok(Vec::new()))?;
        Ok(())
    }

    /// Begins the product that is put off, if there is one; otherwise waits for those that were begun.
    pub(super) fn begin_delayed(&mut self) -> Result<()> {
        let Some((delay, kept)) = self.delay()? else { return Ok(()) };
        let begin = |l: &mut Self| {
            let left = l.left_of(&kept)?;
            // Where it is missing, `ptxas` makes one, and then waits for each multiplication as it is in a branch.
            l.action("wgmma.fence.sync.aligned;", &[])?;
            l.change_words(delay.var, |l, words| l.begin(delay.second, kept.slot, Some(&left), words))?;
            l.action("wgmma.commit_group.sync.aligned;", &[])?;
            Ok(Vec::new())
        };
        let wait = |l: &mut Self| l.action(WAIT_FOR_ALL, &[]).map(|()| Vec::new());
        let is_one = self.is_put_off(&kept)?;
        self.either(is_one, begin, wait).map(|_nothing| ())
    }

    /// Waits for the product that was put off and begun, if there is one, and gives its slot back.
    pub(super) fn wait_delayed(&mut self) -> Result<()> {
        let Some((delay, kept)) = self.delay()? else { return Ok(()) };
        let left = self.left_of(&kept)?;
        self.change_words(delay.var, |l, words| l.wait_for_sums(words, &left))?;
        let is_one = self.is_put_off(&kept)?;
        let slot = self.number(kept.slot[0])?;
        self.either(is_one, |l| l.give_slot_back(slot).map(|()| Vec::new()), |_| Ok(Vec::new()))?;
        self.e.b.build_store(kept.is_one, self.e.i32(0))?;
        Ok(())
    }

    /// Behind the loop: what the last round put off.
    pub(crate) fn finish_delayed(&mut self) -> Result<()> {
        if self.delay()?.is_none() {
            return Ok(());
        }
        self.wait_for_delayed()?;
        self.take_turn()?;
        self.begin_delayed()?;
        self.give_turn()?;
        self.wait_delayed()
    }
}
