//! Groups of warps that take turns.
//!
//! Two groups of warps that multiply, compute with the sums and multiply again, round by round, fall into step: both wait
//! for the unit that multiplies, then both compute, and the unit waits for them. So they take turns: a group multiplies the
//! second product of a round and the first of the next in its turn, and computes in that of the other.
//!
//! ```text
//! group 0   | first          | compute        | second, first  | compute        | second …
//! group 1   |                | first          | compute        | second, first  | compute …
//! ```
//!
//! A group has a word that counts the warps of the other that have given it the turn. Both go through the same rounds, so each
//! gives the turn as often as it takes it: it takes it before the loop, gives it when the first product of a round is under way,
//! takes it before the second, and gives it behind the loop.

use super::PRODUCERS;
use super::plan::{Places, Plan};
use crate::lower::{Flow, Lower};
use inkwell::IntPredicate;
use inkwell::values::PointerValue;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::{Block, Function, Inst, Label, Module, Op};

/// Groups that take turns.
pub(super) const GROUPS: u32 = 2;
/// Bytes of their words.
pub(super) const WORDS: u32 = 8 * GROUPS;

/// Where turns begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turns {
    /// The loop before which a turn is taken and behind which it is given.
    pub(super) around: Inst,
    /// The product of a round with which a turn ends, and that before which the next begins.
    pub(super) first: Inst,
    pub(super) second: Inst,
}

impl Turns {
    /// The turns of a module whose two products stand one behind the other in each round of a loop that is left between
    /// rounds only.
    pub(super) fn of(ir: &Module, places: &Places<'_>, plan: &Plan) -> Option<Self> {
        let [first, second] = &plan.streams[..] else { return None };
        let is_chained = plan.streams.iter().any(|stream| stream.is_chained || stream.is_promoted());
        let (first, second) = (first.mul_add, second.mul_add);
        let around = places.round(first, second)?;
        let fits = !is_chained && ir.workgroup_invocations() == GROUPS * PRODUCERS;
        fits.then_some(Self { around, first, second })
    }
}

/// Whether an instruction may leave what is around it, or is gone through several times.
pub(super) fn leaves(f: &Function, inst: Inst) -> bool {
    matches!(f.inst(inst).op, Op::Br(_) | Op::Return | Op::Loop { .. })
}

impl Places<'_> {
    /// The loop that has two instructions in each round, one behind the other in one block, and that nothing leaves between them.
    pub(super) fn round(&self, first: Inst, second: Inst) -> Option<Inst> {
        let ((block, from), (other, to)) = (self.of[first.index()]?, self.of[second.index()]?);
        let is_straight =
            block == other && !self.order.get(from..to)?.iter().any(|&inst| leaves(self.f, inst));
        let around = self.around(first).find(|&inst| matches!(self.f.inst(inst).op, Op::Loop { .. }))?;
        is_straight.then_some(around)
    }
}

/// Where a thread's word and the other group's are, and the phase of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'c> {
    own: PointerValue<'c>,
    other: PointerValue<'c>,
    phase: PointerValue<'c>,
}

impl<'c> Lower<'_, 'c> {
    /// Makes the words, by one thread.
    pub(super) fn make_turns(&mut self, start: u32) -> Result<()> {
        for group in 0..GROUPS {
            let at = self.shared_address(start + 8 * group)?;
            let warps = self.e.i32(PRODUCERS / 32);
            self.action("mbarrier.init.shared.b64 [$0], $1;", &[at, warps])?;
        }
        Ok(())
    }

    /// What a thread that multiplies knows of turns. The first turn is that of the first group.
    pub(super) fn start_turns(&mut self, start: u32, group: V<'c>) -> Result<Words<'c>> {
        let ty = self.e.cx.i32_type();
        let words = Words { own: self.reserve(ty)?, other: self.reserve(ty)?, phase: self.reserve(ty)? };
        let start = self.shared_address(start)?;
        let further = self.e.mul(group, self.e.i32(8))?;
        let own = self.e.add(start, further)?;
        let other = self.e.xor(further, self.e.i32(8))?;
        let other = self.e.add(start, other)?;
        let is_first = self.e.icmp(IntPredicate::EQ, group, self.e.i32(0))?;
        let phase = self.e.zext_trunc(is_first, 32)?;
        for (cell, x) in [(words.own, own), (words.other, other), (words.phase, phase)] {
            self.e.b.build_store(cell, x)?;
        }
        Ok(words)
    }

    /// A loop in which groups take turns. Those that take them look whether the dispatch shall end where they wait.
    pub(crate) fn lower_loop_of_two(&mut self, label: Label, body: Block) -> Result<Flow> {
        if self.ring()?.plan.delay.is_some() {
            let looks = self.ring()?.turns.is_none();
            let flow = self.lower_rounds(label, body, looks)?;
            self.finish_delayed()?;
            return Ok(flow);
        }
        self.take_turn()?;
        let flow = self.lower_loop(label, body)?;
        self.give_turn()?;
        Ok(flow)
    }

    /// Waits for the group's turn.
    pub(super) fn take_turn(&mut self) -> Result<()> {
        let Some(words) = self.ring()?.turns else { return Ok(()) };
        let (own, phase) = (self.number(words.own)?, self.number(words.phase)?);
        self.wait_at(own, phase, true)?;
        let turned = self.e.xor(phase, self.e.i32(1))?;
        self.e.b.build_store(words.phase, turned)?;
        Ok(())
    }

    /// Lets the other group have its turn.
    pub(super) fn give_turn(&mut self) -> Result<()> {
        let Some(words) = self.ring()?.turns else { return Ok(()) };
        let other = self.number(words.other)?;
        self.arrive_by_warp(other)
    }
}
