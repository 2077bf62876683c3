//! Control flow: constructs with one entry and one exit.
//!
//! IR leaves a `block` and repeats a `loop` by a branch from anywhere inside. SPIR-V wants selections and loops with merge
//! blocks, and MLIR's `spirv` dialect, which keeps constructs as nested regions, lets no branch leave one but at its end.
//! So all constructs that are made here have one exit, and most branches vanish:
//!
//! - A branch vanishes where falling off leads to the same place. For that, what follows an `if` with one side that does
//!   not come to its end is moved into the other side:
//!
//! ```text
//! block @out {                      if %c {
//!   if %c { br @out } else {}   →   } else {
//!   rest                              rest
//! }                                 }
//! ```
//!
//! - The last `if` of a loop's body becomes a branch to the continue target and the merge block, where one of its sides
//!   does nothing else: so a `while` loop and a `for` loop look as one expects.
//! - Any other branch writes the number of its label to a variable. What it jumps over is executed where the variable is
//!   zero, and where the label is, the variable becomes zero again.
//!
//! Invocations that have left wait at the end of the construct in IR, and so they do here.

use phalanx_ir::{Block, Inst, Label, Op as IrOp, Scalar};
use rspirv::dr::Operand;
use rspirv::spirv::{LoopControl, MemoryAccess, Op, SelectionControl, Word};

use crate::emit::id;
use crate::error::Res;
use crate::lower::Lower;

/// The labels that a branch may be on its way to.
type Pending = Vec<Label>;

/// How deeply what follows an `if` is moved into a side of it.
const MAX_DEPTH: u32 = 64;

/// A round of a loop.
struct Round {
    label: Label,
    /// The blocks that begin the next round and that end the loop.
    again: Word,
    merge: Word,
}

fn join(mut pending: Pending, more: Pending) -> Pending {
    for label in more {
        if !pending.contains(&label) {
            pending.push(label);
        }
    }
    pending
}

impl Lower<'_> {
    /// The whole code.
    pub(crate) fn code(&mut self, body: Block) -> Res<()> {
        let insts = self.func.block(body);
        self.sequence(insts, &[self.end()], 0)?;
        Ok(())
    }

    /// Stands for the end of the function, as a label.
    fn end(&self) -> Label {
        Label::new(self.func.labels as usize)
    }

    /// Executes instructions one after the other. Falling off the end is a branch to each of the labels in `tail`.
    pub(crate) fn sequence(&mut self, insts: &[Inst], tail: &[Label], depth: u32) -> Res<Pending> {
        for (at, &inst) in insts.iter().enumerate() {
            let rest = &insts[at + 1..];
            let inner = if rest.is_empty() { tail } else { &[] };
            let func = self.func;
            let pending = match &func.inst(inst).op {
                IrOp::Br(label) => return Ok(self.leave(*label, tail)),
                IrOp::Return => return Ok(self.leave(self.end(), tail)),
                IrOp::If { then, otherwise } => {
                    let condition = self.word(func.inst(inst).args[0])?;
                    if let Some([then, otherwise]) = self.with_rest(*then, *otherwise, rest, depth) {
                        return self.selection(condition, &then, &otherwise, tail, depth + 1);
                    }
                    let (then, otherwise) = (func.block(*then), func.block(*otherwise));
                    self.selection(condition, then, otherwise, inner, depth + 1)?
                }
                IrOp::Block { label, body } => {
                    let inner = [inner, &[*label]].concat();
                    let mut pending = self.sequence(func.block(*body), &inner, depth + 1)?;
                    self.reached(&[*label], &mut pending);
                    pending
                }
                IrOp::Loop { label, body } => self.repeated(*label, func.block(*body), inner, depth + 1)?,
                _ => {
                    self.instruction(inst)?;
                    continue;
                }
            };
            if !pending.is_empty() && !rest.is_empty() {
                return self.guarded(pending, rest, tail, depth);
            }
            if rest.is_empty() {
                return Ok(pending);
            }
        }
        Ok(Pending::new())
    }

    /// What follows a construct that a branch may have left on its way to somewhere else.
    fn guarded(&mut self, pending: Pending, rest: &[Inst], tail: &[Label], depth: u32) -> Res<Pending> {
        let stays = self.is_leaving_for(0);
        let more = self.selection(stays, rest, &[], tail, depth + 1)?;
        Ok(join(pending, more))
    }

    /// The sides of an `if` with what follows it in one of them, where the other does not come to its end.
    fn with_rest(&self, then: Block, otherwise: Block, rest: &[Inst], depth: u32) -> Option<[Vec<Inst>; 2]> {
        let (then, otherwise) = (self.func.block(then), self.func.block(otherwise));
        let with_rest = |side: &[Inst]| [side, rest].concat();
        match (self.never_ends(then), self.never_ends(otherwise)) {
            (true, true) => Some([then.to_vec(), otherwise.to_vec()]),
            _ if rest.is_empty() || depth >= MAX_DEPTH => None,
            (true, false) => Some([then.to_vec(), with_rest(otherwise)]),
            (false, true) => Some([with_rest(then), otherwise.to_vec()]),
            (false, false) => None,
        }
    }

    /// Whether control never comes to the end of these instructions.
    fn never_ends(&self, insts: &[Inst]) -> bool {
        insts.last().is_some_and(|&inst| match &self.func.inst(inst).op {
            IrOp::Br(_) | IrOp::Return => true,
            IrOp::If { then, otherwise } => {
                self.never_ends(self.func.block(*then)) && self.never_ends(self.func.block(*otherwise))
            }
            IrOp::Loop { body, .. } => self.never_ends(self.func.block(*body)),
            _ => false,
        })
    }

    // ── branches ──

    /// A branch from a place whose end is a branch to the labels in `tail`.
    fn leave(&mut self, label: Label, tail: &[Label]) -> Pending {
        if tail.contains(&label) {
            return Pending::new();
        }
        let variable = self.leaving();
        let number = self.e.int(number(label));
        self.e.store(variable, number, MemoryAccess::NONE);
        vec![label]
    }

    /// Here are these labels: branches to them have arrived.
    fn reached(&mut self, labels: &[Label], pending: &mut Pending) {
        let arrived: Vec<Label> = labels.iter().copied().filter(|label| pending.contains(label)).collect();
        if arrived.is_empty() {
            return;
        }
        pending.retain(|label| !arrived.contains(label));
        let (variable, zero) = (self.leaving(), self.e.int(0));
        let mut new = zero;
        if !pending.is_empty() {
            let (int, bool) = (self.e.u32(), self.e.bool());
            let old = self.e.load(int, variable, MemoryAccess::NONE);
            let mut is_here = self.e.constant(Scalar::Bool, 0);
            for label in arrived {
                let number = self.e.int(number(label));
                let is_this = self.e.value(Op::IEqual, bool, &[old, number]);
                is_here = match self.e.bits(is_here) {
                    Some(_) => is_this,
                    None => self.e.value(Op::LogicalOr, bool, &[is_here, is_this]),
                };
            }
            new = self.e.select(int, is_here, zero, old);
        }
        self.e.store(variable, new, MemoryAccess::NONE);
    }

    /// Whether a branch to the label with this number is on its way; with 0, whether none is.
    fn is_leaving_for(&mut self, number: u32) -> Word {
        let variable = self.leaving();
        let (int, bool) = (self.e.u32(), self.e.bool());
        let found = self.e.load(int, variable, MemoryAccess::NONE);
        let number = self.e.int(number);
        self.e.value(Op::IEqual, bool, &[found, number])
    }

    /// The variable with the number of the label that a branch is on its way to, or 0.
    fn leaving(&mut self) -> Word {
        match self.leaving {
            Some(variable) => variable,
            None => {
                let (int, zero) = (self.e.u32(), self.e.int(0));
                *self.leaving.insert(self.e.local(int, Some(zero), "leaving_for"))
            }
        }
    }

    // ── constructs ──

    /// One of two sequences. What falls off one of them goes to the labels in `tail`.
    fn selection(
        &mut self,
        condition: Word,
        then: &[Inst],
        otherwise: &[Inst],
        tail: &[Label],
        depth: u32,
    ) -> Res<Pending> {
        let (no_then, no_otherwise) = (self.is_nothing(then, tail), self.is_nothing(otherwise, tail));
        if no_then && no_otherwise {
            return Ok(Pending::new());
        }
        let merge = self.e.fresh();
        let first = if no_then { merge } else { self.e.fresh() };
        let second = if no_otherwise { merge } else { self.e.fresh() };
        self.e.effect(Op::SelectionMerge, vec![id(merge), Operand::SelectionControl(SelectionControl::NONE)]);
        self.e.effect(Op::BranchConditional, vec![id(condition), id(first), id(second)]);
        let mut pending = Pending::new();
        for (label, side) in [(first, then), (second, otherwise)] {
            if label != merge {
                self.e.begin(label);
                pending = join(pending, self.sequence(side, tail, depth)?);
                self.e.branch(merge);
            }
        }
        self.e.begin(merge);
        Ok(pending)
    }

    /// Whether a sequence does nothing but go where falling off it leads.
    fn is_nothing(&self, insts: &[Inst], tail: &[Label]) -> bool {
        match insts {
            [] => true,
            [only] => match self.func.inst(*only).op {
                IrOp::Br(label) => tail.contains(&label),
                IrOp::Return => tail.contains(&self.end()),
                _ => false,
            },
            _ => false,
        }
    }

    /// A loop. Its end is a branch to the labels in `tail`.
    fn repeated(&mut self, label: Label, body: &[Inst], tail: &[Label], depth: u32) -> Res<Pending> {
        let [header, start, again, merge] = [(); 4].map(|()| self.e.fresh());
        self.e.branch(header);
        self.e.begin(header);
        self.e.effect(Op::LoopMerge, vec![id(merge), id(again), Operand::LoopControl(LoopControl::NONE)]);
        self.e.branch(start);
        self.e.begin(start);
        let round = Round { label, again, merge };
        let mut ends = Vec::new();
        let mut pending = self.round(body, tail, &mut ends, &round, depth)?;
        self.e.begin(again);
        if pending.contains(&label) {
            let (variable, zero) = (self.leaving(), self.e.int(0));
            self.e.store(variable, zero, MemoryAccess::NONE);
            pending.retain(|&other| other != label);
        }
        self.e.branch(header);
        self.e.begin(merge);
        self.reached(&ends, &mut pending);
        Ok(pending)
    }

    /// The body of a loop, or its last part: as [`sequence`](Self::sequence), but it ends with branches to the continue
    /// target or the merge block. Gathers in `ends` the labels of blocks that end where the body does.
    fn round(
        &mut self,
        insts: &[Inst],
        tail: &[Label],
        ends: &mut Vec<Label>,
        round: &Round,
        depth: u32,
    ) -> Res<Pending> {
        let func = self.func;
        for (at, &inst) in insts.iter().enumerate() {
            let rest = &insts[at + 1..];
            match &func.inst(inst).op {
                IrOp::Br(label) if *label == round.label => {
                    self.e.branch(round.again);
                    return Ok(Pending::new());
                }
                IrOp::Br(_) | IrOp::Return => {
                    let pending = self.sequence(&[inst], tail, depth)?;
                    self.e.branch(round.merge);
                    return Ok(pending);
                }
                IrOp::If { then, otherwise } => {
                    let sides = match self.with_rest(*then, *otherwise, rest, depth) {
                        Some(sides) => sides,
                        None if rest.is_empty() => [*then, *otherwise].map(|b| func.block(b).to_vec()),
                        None => {
                            if let Some(pending) = self.part(inst, rest, tail, depth)? {
                                return self.end_round(pending, round);
                            }
                            continue;
                        }
                    };
                    let condition = self.word(func.inst(inst).args[0])?;
                    return self.last_if(condition, &sides, tail, ends, round, depth + 1);
                }
                IrOp::Block { label, body } if rest.is_empty() => {
                    ends.push(*label);
                    let tail = [tail, &[*label]].concat();
                    return self.round(func.block(*body), &tail, ends, round, depth + 1);
                }
                IrOp::Block { .. } | IrOp::Loop { .. } => {
                    if let Some(pending) = self.part(inst, rest, tail, depth)? {
                        return self.end_round(pending, round);
                    }
                }
                _ => self.instruction(inst)?,
            }
        }
        self.e.branch(round.merge);
        Ok(Pending::new())
    }

    /// A construct in the body of a loop. If branches may leave it, or it is the last one, the rest is done with it.
    fn part(&mut self, inst: Inst, rest: &[Inst], tail: &[Label], depth: u32) -> Res<Option<Pending>> {
        let pending = self.sequence(&[inst], if rest.is_empty() { tail } else { &[] }, depth)?;
        match (pending.is_empty(), rest.is_empty()) {
            (_, true) => Ok(Some(pending)),
            (true, false) => Ok(None),
            (false, false) => self.guarded(pending, rest, tail, depth).map(Some),
        }
    }

    /// The last `if` of a loop's body.
    fn last_if(
        &mut self,
        condition: Word,
        [then, otherwise]: &[Vec<Inst>; 2],
        tail: &[Label],
        ends: &mut Vec<Label>,
        round: &Round,
        depth: u32,
    ) -> Res<Pending> {
        let (first, second) = (self.straight(then, tail, round), self.straight(otherwise, tail, round));
        let rest = match (first, second) {
            (Some(first), Some(second)) if first == second => {
                self.e.branch(first);
                return Ok(Pending::new());
            }
            (Some(first), Some(second)) => {
                self.e.effect(Op::BranchConditional, vec![id(condition), id(first), id(second)]);
                return Ok(Pending::new());
            }
            (Some(first), None) => {
                let label = self.e.fresh();
                self.e.effect(Op::BranchConditional, vec![id(condition), id(first), id(label)]);
                self.e.begin(label);
                otherwise
            }
            (None, Some(second)) => {
                let label = self.e.fresh();
                self.e.effect(Op::BranchConditional, vec![id(condition), id(label), id(second)]);
                self.e.begin(label);
                then
            }
            (None, None) => {
                let pending = self.selection(condition, then, otherwise, tail, depth)?;
                return self.end_round(pending, round);
            }
        };
        self.round(rest, tail, ends, round, depth)
    }

    /// Where a sequence leads that does nothing but end the round.
    fn straight(&self, insts: &[Inst], tail: &[Label], round: &Round) -> Option<Word> {
        match insts {
            [only] if matches!(self.func.inst(*only).op, IrOp::Br(label) if label == round.label) => {
                Some(round.again)
            }
            _ => self.is_nothing(insts, tail).then_some(round.merge),
        }
    }

    /// Ends a round from which branches may be on their way.
    fn end_round(&mut self, pending: Pending, round: &Round) -> Res<Pending> {
        if pending.contains(&round.label) {
            let again = self.is_leaving_for(number(round.label));
            self.e.effect(Op::BranchConditional, vec![id(again), id(round.again), id(round.merge)]);
        } else {
            self.e.branch(round.merge);
        }
        Ok(pending)
    }
}

/// The number of a label in the variable.
fn number(label: Label) -> u32 {
    label.index() as u32 + 1
}
