//! Structured control flow, and which threads of a warp are together.
//!
//! A thread branches where it wants to. The hardware brings threads together again as it likes, which is enough for
//! code that a thread runs by itself; the IR promises more to operations of a subgroup: those that enter a construct
//! together are together behind it. Such operations of the hardware take the set of threads that take part and wait for
//! them, so in modules that have them that set, the *mask*, is known everywhere.
//!
//! Threads that leave a construct for one further out do not go there right away where others may stay behind: they
//! note their *goal* and pass by the end of each construct between, where all that entered it say whether they stay:
//!
//! ```text
//! block @0 {                     entered by m
//!   if c { br @0 } else {}       t = ballot(m, c) ; in the branches the masks are t and m & ~t ; goal = @0
//!                                here: stay = ballot(m, goal is here) ; mask = stay, the others go further out
//!   ...
//! }                              mask = m
//! ```
//!
//! Where some leave a construct by their goal, all others that leave it do, too, for those at its end wait for them
//! ([`Goals`]).
//!
//! A `ballot` waits for all of its mask, so what follows it is common again. Without operations of a subgroup there are
//! neither masks nor goals, and in a construct without any, that nobody leaves by a goal, masks are not kept either: behind
//! a loop or a block of that kind the threads that entered it are brought together.

use crate::abi::WATCH;
use crate::goals::Goals;
use crate::lower::{Flow, Lower};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::PointerValue;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Barrier, Block, Function, Inst, Label, Op, Scope, Space, Uniformity, Var};
use smallvec::SmallVec;

/// The goal of threads that stay.
const HERE: u32 = 0;
/// After how many rounds of loops a thread looks whether it shall end: reading the host's memory takes a microsecond.
const ROUNDS: u32 = 1 << 12;
/// The goal of threads that have returned.
const RETURN: u32 = u32::MAX;

/// A construct around the current position.
#[derive(Debug)]
struct Frame<'c> {
    /// Its label, unless it is an `if`.
    label: Option<Label>,
    /// Where a branch to its label goes if all threads take it.
    target: Option<BasicBlock<'c>>,
    /// Where threads go that come to its end or leave it.
    end: BasicBlock<'c>,
}

/// The constructs around the current position, innermost last.
#[derive(Debug)]
pub(crate) struct Constructs<'c> {
    stack: Vec<Frame<'c>>,
    /// By block: how control leaves it other than by its end.
    exits: Vec<Exits>,
    goals: Goals,
    ret: BasicBlock<'c>,
    masks: Option<Masks<'c>>,
    /// Where rounds of loops are counted.
    rounds: Option<PointerValue<'c>>,
}

/// Where the mask and the goal of a thread are.
#[derive(Clone, Copy, Debug)]
struct Masks<'c> {
    mask: PointerValue<'c>,
    goal: PointerValue<'c>,
}

/// How control may leave a block other than by its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exits {
    pub(crate) labels: SmallVec<[Label; 2]>,
    pub(crate) returns: bool,
}

impl<'c> Constructs<'c> {
    pub(crate) fn new(f: &Function, uniformity: &Uniformity, ret: BasicBlock<'c>) -> Self {
        let exits = exits_of(f);
        let goals = Goals::find(f, uniformity, &exits);
        Self { stack: Vec::new(), exits, goals, ret, masks: None, rounds: None }
    }

    /// Where threads go from here on that return.
    pub(crate) fn set_return(&mut self, ret: BasicBlock<'c>) {
        self.ret = ret;
    }
}

/// By block: how control leaves it other than by its end.
pub(crate) fn exits_of(f: &Function) -> Vec<Exits> {
    let mut exits = vec![Exits::default(); f.blocks.len()];
    find_exits(f, Function::ENTRY, &mut exits);
    exits
}

/// Fills in the exits of a block and of all within.
fn find_exits(f: &Function, block: Block, exits: &mut [Exits]) {
    let mut all = Exits::default();
    for &inst in f.block(block) {
        let op = &f.inst(inst).op;
        for body in op.bodies() {
            find_exits(f, body, exits);
            let inner = exits[body.index()].clone();
            all.returns |= inner.returns;
            let own = match op {
                Op::Block { label, .. } | Op::Loop { label, .. } => Some(*label),
                _ => None,
            };
            for label in inner.labels {
                if Some(label) != own && !all.labels.contains(&label) {
                    all.labels.push(label);
                }
            }
        }
        match *op {
            Op::Br(label) if !all.labels.contains(&label) => all.labels.push(label),
            Op::Return => all.returns = true,
            _ => {}
        }
    }
    exits[block.index()] = all;
}

/// Whether threads of a subgroup do something together.
pub(crate) fn is_together(op: &Op) -> bool {
    match op {
        Op::Subgroup(_) | Op::VecOuterAdd(_) | Op::VecReduceAdd(_) => true,
        Op::Barrier(Barrier { execution, .. }) => *execution == Scope::Subgroup,
        _ => false,
    }
}

impl<'c> Lower<'_, 'c> {
    /// Begins to keep account of threads, if the module needs it.
    pub(crate) fn start_masks(&mut self) -> Result<()> {
        if !self.f.insts.iter().any(|info| is_together(&info.op)) {
            return Ok(());
        }
        let i32_ty = self.e.cx.i32_type();
        let masks = Masks { mask: self.reserve(i32_ty)?, goal: self.reserve(i32_ty)? };
        self.constructs.masks = Some(masks);
        let all = self.e.i32(u32::MAX);
        let rest = self.layout.threads % 32;
        let mask = match rest {
            0 => all,
            _ => {
                let thread = self.thread()?;
                let first = self.e.i32(self.layout.threads - rest);
                let is_last = self.e.icmp(IntPredicate::UGE, thread, first)?;
                self.e.select(is_last, self.e.i32((1 << rest) - 1), all)?
            }
        };
        self.e.b.build_store(masks.mask, mask)?;
        self.e.b.build_store(masks.goal, self.e.i32(HERE))?;
        Ok(())
    }

    /// Begins to count rounds, if there are loops.
    pub(crate) fn start_rounds(&mut self) -> Result<()> {
        if self.f.insts.iter().any(|info| matches!(info.op, Op::Loop { .. })) {
            let rounds = self.reserve(self.e.cx.i32_type())?;
            self.e.b.build_store(rounds, self.e.i32(0))?;
            self.constructs.rounds = Some(rounds);
        }
        Ok(())
    }

    /// The threads that are here together.
    pub(crate) fn mask(&mut self) -> Result<V<'c>> {
        let masks = self.constructs.masks.ok_or_else(|| Error::bug("nobody counts threads"))?;
        Ok(self.e.b.build_load(self.e.cx.i32_type(), masks.mask, "mask")?)
    }

    pub(crate) fn set_mask(&mut self, mask: V<'c>) -> Result<()> {
        if let Some(masks) = self.constructs.masks {
            self.e.b.build_store(masks.mask, mask)?;
        }
        Ok(())
    }

    pub(crate) fn mask_if_any(&mut self) -> Result<Option<V<'c>>> {
        match self.constructs.masks {
            Some(_) => self.mask().map(Some),
            None => Ok(None),
        }
    }

    /// The threads of a mask for which a condition holds. All of them come here.
    pub(crate) fn ballot(&mut self, mask: V<'c>, cond: V<'c>) -> Result<V<'c>> {
        self.e.intrinsic("llvm.nvvm.vote.ballot.sync", &[], &[mask, cond])
    }

    pub(crate) fn lower_if(&mut self, inst: Inst, then: Block, otherwise: Block) -> Result<Flow> {
        let cond = self.scalar(self.f.inst(inst).args[0])?;
        let mask = self.mask_if_any()?;
        let masks = match mask {
            Some(mask)
                if self.uniformity.is_divergent_if(inst)
                    && (self.tells_apart(then) || self.tells_apart(otherwise)) =>
            {
                let taken = self.ballot(mask, cond)?;
                let rest = self.e.and(mask, self.e.not(taken)?)?;
                Some([taken, rest])
            }
            _ => None,
        };
        let [yes, no, end] = ["then", "else", "endif"].map(|name| self.new_block(name));
        self.e.cond_br(cond, yes, no)?;
        self.constructs.stack.push(Frame { label: None, target: None, end });
        for (i, (start, body)) in [(yes, then), (no, otherwise)].into_iter().enumerate() {
            self.e.b.position_at_end(start);
            if let Some(masks) = masks {
                self.set_mask(masks[i])?;
            }
            if self.block(body)? == Flow::Next {
                self.e.br(end)?;
            }
        }
        self.constructs.stack.pop();
        let pending = self.may_pass(then, None) || self.may_pass(otherwise, None);
        self.arrive(end, mask, pending, None)
    }

    pub(crate) fn lower_block(&mut self, label: Label, body: Block) -> Result<Flow> {
        let mask = self.mask_if_any()?;
        let end = self.new_block("endblock");
        self.constructs.stack.push(Frame { label: Some(label), target: Some(end), end });
        if self.block(body)? == Flow::Next {
            self.e.br(end)?;
        }
        self.constructs.stack.pop();
        let pending = self.may_pass(body, Some(label));
        let own = self.constructs.goals.has(label).then_some(label);
        self.arrive(end, mask, pending, own)?;
        self.rejoin(label, body, mask)
    }

    pub(crate) fn lower_loop(&mut self, label: Label, body: Block) -> Result<Flow> {
        self.lower_rounds(label, body, true)
    }

    /// A loop whose rounds look whether the dispatch shall end, or leave that to what they wait for.
    pub(crate) fn lower_rounds(&mut self, label: Label, body: Block, looks: bool) -> Result<Flow> {
        let mask = self.mask_if_any()?;
        let [header, latch, end] = ["loop", "latch", "endloop"].map(|name| self.new_block(name));
        self.e.br(header)?;
        self.e.b.position_at_end(header);
        if looks {
            self.look_whether_to_stop()?;
        }
        let round = self.mask_if_any()?;
        self.constructs.stack.push(Frame { label: Some(label), target: Some(header), end: latch });
        self.loops += 1;
        if self.block(body)? == Flow::Next {
            self.e.br(latch)?;
        }
        self.loops -= 1;
        self.constructs.stack.pop();
        self.e.b.position_at_end(latch);
        match (self.constructs.masks, round) {
            (Some(masks), Some(round)) if self.constructs.goals.has(label) => {
                let goal = self.e.b.build_load(self.e.cx.i32_type(), masks.goal, "goal")?;
                let repeats = self.e.icmp(IntPredicate::EQ, goal, self.e.i32(number(label)))?;
                let again = self.ballot(round, repeats)?;
                let repeat = self.new_block("repeat");
                self.e.cond_br(repeats, repeat, end)?;
                self.e.b.position_at_end(repeat);
                self.e.b.build_store(masks.goal, self.e.i32(HERE))?;
                self.set_mask(again)?;
                self.e.br(header)?;
            }
            _ => self.e.br(end)?,
        }
        let pending = self.may_pass(body, Some(label));
        self.arrive(end, mask, pending, None)?;
        self.rejoin(label, body, mask)
    }

    /// Behind a construct in which threads were not told apart, though they parted: what follows may want those that entered it
    /// to be together, whether or not it says which. Where they are not told apart around it either, nobody knows who did.
    fn rejoin(&mut self, label: Label, body: Block, mask: Option<V<'c>>) -> Result<Flow> {
        let Some(mask) = mask else { return Ok(Flow::Next) };
        let exits = &self.constructs.exits[body.index()];
        let leads_on = exits.returns || exits.labels.iter().any(|&other| other != label);
        let has_parted = self.uniformity.is_divergent_label(label) && !self.constructs.goals.has(label);
        if has_parted && !leads_on && self.tells_apart(self.here) {
            self.e.intrinsic_effect("llvm.nvvm.bar.warp.sync", &[], &[mask])?;
        }
        Ok(Flow::Next)
    }

    /// A loop in which multiplications of one round go on in the next. Where they are added to what the sums were before, the
    /// first round is apart, so that within the loop and behind it they are known to: `ptxas` waits for each otherwise, and
    /// where the loop may be left to end the dispatch, so that only producers look.
    pub(crate) fn lower_chained_loop(&mut self, label: Label, body: Block, sums: &[Var]) -> Result<Flow> {
        let mask = self.mask_if_any()?;
        let [header, done] = ["loop", "endloop"].map(|name| self.new_block(name));
        if self.begins_with_products() {
            self.e.br(header)?;
        } else {
            self.chained_round((label, body), sums, [header, done])?;
        }
        self.e.b.position_at_end(header);
        self.chained_round((label, body), sums, [header, done])?;
        self.arrive(done, mask, false, None)
    }

    /// A round, from which control goes on to the next, or leaves the loop when the sums are there.
    fn chained_round(
        &mut self,
        (label, body): (Label, Block),
        sums: &[Var],
        [next, done]: [BasicBlock<'c>; 2],
    ) -> Result<()> {
        let end = self.new_block("endround");
        self.constructs.stack.push(Frame { label: Some(label), target: Some(next), end });
        if self.block(body)? == Flow::Next {
            self.e.br(end)?;
        }
        self.constructs.stack.pop();
        self.e.b.position_at_end(end);
        self.settle(sums)?;
        self.e.br(done)
    }

    /// In a round of a loop: now and then, ends the thread if the dispatch shall end. What others of its warp wait for
    /// then does not come, but they end as well.
    pub(crate) fn look_whether_to_stop(&mut self) -> Result<()> {
        let Some(rounds) = self.constructs.rounds else { return Ok(()) };
        let ty = self.e.cx.i32_type();
        let round = self.e.b.build_load(ty, rounds, "round")?;
        let round = self.e.add(round, self.e.i32(1))?;
        self.e.b.build_store(rounds, round)?;
        let low = self.e.and(round, self.e.i32(ROUNDS - 1))?;
        let is_time = self.e.icmp(IntPredicate::EQ, low, self.e.i32(0))?;
        let [look, go_on] = ["look", "go_on"].map(|name| self.new_block(name));
        self.e.cond_br_likely(self.e.not(is_time)?, go_on, look)?;
        self.e.b.position_at_end(look);
        let at = self.e.field(self.arguments, WATCH)?;
        let at = self.e.load_invariant(self.space_ty(Space::Global), at, 8)?.into_pointer_value();
        let word = self.e.load(ty, at, 4)?;
        self.e.set_volatile(word)?;
        let stops = self.e.icmp(IntPredicate::NE, word, self.e.i32(0))?;
        self.e.cond_br(stops, self.constructs.ret, go_on)?;
        self.e.b.position_at_end(go_on);
        Ok(())
    }

    pub(crate) fn lower_br(&mut self, label: Label) -> Result<Flow> {
        let masks = self.constructs.masks.filter(|_| self.constructs.goals.has(label));
        if let Some(masks) = masks {
            self.e.b.build_store(masks.goal, self.e.i32(number(label)))?;
            let end = self.outer_end();
            self.e.br(end)?;
            return Ok(Flow::Left);
        }
        let frame = self.constructs.stack.iter().rev().find(|frame| frame.label == Some(label));
        let target = frame.and_then(|frame| frame.target);
        self.e.br(target.ok_or_else(|| Error::bug(format!("{label} is not around its branch")))?)?;
        Ok(Flow::Left)
    }

    pub(crate) fn lower_return(&mut self) -> Result<Flow> {
        let masks = self.constructs.masks.filter(|_| self.constructs.goals.returns);
        if let Some(masks) = masks {
            self.e.b.build_store(masks.goal, self.e.i32(RETURN))?;
            let end = self.outer_end();
            self.e.br(end)?;
            return Ok(Flow::Left);
        }
        self.e.br(self.constructs.ret)?;
        Ok(Flow::Left)
    }

    /// Whether threads have to be told apart in a block.
    pub(crate) fn tells_apart(&self, block: Block) -> bool {
        self.constructs.goals.tells_apart(block, &self.constructs.exits[block.index()])
    }

    /// Whether some threads may come to the end of a block on their way further out, past a label of its own.
    fn may_pass(&self, body: Block, own: Option<Label>) -> bool {
        let exits = &self.constructs.exits[body.index()];
        let goes_on = |&label: &Label| Some(label) != own && self.constructs.goals.has(label);
        self.constructs.masks.is_some()
            && (exits.labels.iter().any(goes_on) || exits.returns && self.constructs.goals.returns)
    }

    /// Where threads go that leave the innermost construct.
    fn outer_end(&self) -> BasicBlock<'c> {
        self.constructs.stack.last().map_or(self.constructs.ret, |frame| frame.end)
    }

    /// Goes on behind a construct that was entered by a mask. Some that come there may only pass by.
    fn arrive(
        &mut self,
        end: BasicBlock<'c>,
        mask: Option<V<'c>>,
        pending: bool,
        own: Option<Label>,
    ) -> Result<Flow> {
        self.e.b.position_at_end(end);
        let (Some(masks), Some(mask)) = (self.constructs.masks, mask) else {
            // Behind a construct that nobody leaves by its end there may be code all the same.
            return Ok(Flow::Next);
        };
        if !pending {
            if own.is_some() {
                self.e.b.build_store(masks.goal, self.e.i32(HERE))?;
            }
            self.set_mask(mask)?;
            return Ok(Flow::Next);
        }
        let goal = self.e.b.build_load(self.e.cx.i32_type(), masks.goal, "goal")?;
        let mut stays = self.e.icmp(IntPredicate::EQ, goal, self.e.i32(HERE))?;
        if let Some(own) = own {
            let is_own = self.e.icmp(IntPredicate::EQ, goal, self.e.i32(number(own)))?;
            stays = self.e.or(stays, is_own)?;
        }
        let stay = self.ballot(mask, stays)?;
        let next = self.new_block("stay");
        let out = self.outer_end();
        self.e.cond_br(stays, next, out)?;
        self.e.b.position_at_end(next);
        self.e.b.build_store(masks.goal, self.e.i32(HERE))?;
        self.set_mask(stay)?;
        Ok(Flow::Next)
    }
}

/// The goal of threads that branch to a label.
fn number(label: Label) -> u32 {
    label.index() as u32 + 1
}
