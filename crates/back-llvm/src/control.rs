//! Structured control flow under masks.
//!
//! Where all active lanes go the same way, a branch is a branch. Where they may part, both ways are
//! walked one after the other, each by its own lanes, and each only if it has any.
//!
//! A lane that branches to the label of an outer construct leaves everything in between. If all
//! active lanes do so and nobody waits in between, that is a jump. Otherwise the lane is noted in
//! the label's set and takes no part until the construct ends, where a `block` lets the noted
//! lanes in again and a `loop` starts its next round with them:
//!
//! ```text
//! block @0 {                     left = {}
//!   if c { br @0 } else {}       left |= exec & c ; exec &= !c ; if none: go to the end
//!   ...
//! }                              exec |= left
//! ```
//!
//! Invariant: no code runs with an empty mask. Where lanes may have left outward for good, the
//! join tests whether any is left and otherwise skips to the next join further out.

use crate::counted;
use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::{Exec, Flow, Lower};
use crate::prologue::Field;
use crate::value::Val;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::PointerValue;
use phalanx_ir::{Block, Function, Inst, Label, Op};
use smallvec::SmallVec;

/// Rounds up to which a loop without another in it is as good as straight code to the watchdog.
const MAX_SHORT: u64 = 1024;

/// Ways into a block: the active lanes (`None`: no lane, which is tested there) and where from.
type Incoming<'c> = SmallVec<[(Option<Exec<'c>>, BasicBlock<'c>); 4]>;

/// A construct around the current position.
#[derive(Debug)]
struct Frame<'c> {
    /// Its label, unless it is an `if`.
    label: Option<Label>,
    /// Whether lanes may be waiting for others at its end.
    divergent: bool,
    /// Whether lanes may have left it for a construct further out.
    lost: bool,
    /// Its end; for a loop, the end of its body.
    join: BasicBlock<'c>,
    incoming: Incoming<'c>,
    /// The set of lanes that branched to its label, if lanes may part.
    left: Option<PointerValue<'c>>,
    /// For a loop whose lanes stay together: where it starts, and the ways there.
    header: Option<(BasicBlock<'c>, Incoming<'c>)>,
    /// A loop of few rounds, which nobody needs to stop.
    is_short: bool,
}

/// The constructs around the current position, innermost last.
#[derive(Debug)]
pub(crate) struct Frames<'c> {
    stack: Vec<Frame<'c>>,
    /// By block: the labels outside of it that it branches to, and whether it returns.
    exits: Vec<Exits>,
}

/// How control may leave a block other than by its end.
#[derive(Clone, Debug, Default)]
struct Exits {
    labels: SmallVec<[Label; 2]>,
    returns: bool,
}

impl Exits {
    fn absorb(&mut self, other: &Self, but: Option<Label>) {
        for &l in other.labels.iter().filter(|&&l| Some(l) != but) {
            if !self.labels.contains(&l) {
                self.labels.push(l);
            }
        }
        self.returns |= other.returns;
    }
}

impl Frames<'_> {
    pub(crate) fn new(f: &Function) -> Self {
        let mut exits = vec![Exits::default(); f.blocks.len()];
        find_exits(f, Function::ENTRY, &mut exits);
        Self { stack: Vec::new(), exits }
    }

    /// Whether there is a loop around whose lanes stay together.
    pub(crate) fn is_in_loop(&self) -> bool {
        self.stack.iter().any(|frame| frame.header.is_some())
    }

    /// The innermost construct at whose end lanes may wait.
    fn innermost_divergent(&self) -> Option<usize> {
        self.stack.iter().rposition(|f| f.divergent)
    }

    /// Notes that lanes leave the constructs from `outermost` in to `innermost`.
    fn lose(&mut self, outermost: usize, innermost: usize) {
        for frame in self.stack.iter_mut().take(innermost + 1).skip(outermost) {
            frame.lost = true;
        }
    }
}

fn find_exits(f: &Function, block: Block, exits: &mut [Exits]) {
    let mut found = Exits::default();
    for &inst in f.block(block) {
        let (bodies, label): (&[Block], _) = match &f.inst(inst).op {
            Op::If { then, otherwise } => (&[*then, *otherwise], None),
            Op::Block { label, body } | Op::Loop { label, body } => (&[*body], Some(*label)),
            Op::Br(label) => {
                found.absorb(&Exits { labels: SmallVec::from_slice(&[*label]), returns: false }, None);
                continue;
            }
            Op::Return => {
                found.returns = true;
                continue;
            }
            // No branch leaves a region.
            op => {
                op.bodies().for_each(|body| find_exits(f, body, exits));
                continue;
            }
        };
        for &body in bodies {
            find_exits(f, body, exits);
            found.absorb(&exits[body.index()], label);
        }
    }
    exits[block.index()] = found;
}

/// Conditionals.
impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_if(&mut self, inst: Inst, then: Block, otherwise: Block) -> Result<Flow> {
        let cond = self.scalar(self.args(inst)[0])?;
        if let Some(c) = cond.is_uniform().then(|| crate::emit::const_int(cond.v)).flatten() {
            return self.block(if c != 0 { then } else { otherwise });
        }
        if cond.is_uniform() || !self.uniformity.is_divergent_if(inst) {
            let cond = self.first(cond)?;
            return self.uniform_if(cond, then, otherwise);
        }
        self.divergent_if(cond, then, otherwise)
    }

    /// All active lanes go the same way.
    fn uniform_if(&mut self, cond: V<'c>, then: Block, otherwise: Block) -> Result<Flow> {
        let (before, alive) = (self.exec, self.alive);
        let [t, o, join] = ["then", "else", "endif"].map(|n| self.new_block(n));
        self.e.cond_br(cond, t, o)?;
        self.push_frame(None, false, join)?;
        for (at, body) in [(t, then), (o, otherwise)] {
            self.e.b.position_at_end(at);
            (self.exec, self.alive) = (before, alive);
            if self.block(body)? == Flow::Next {
                self.jump_to_join(self.frames.stack.len() - 1, Some(self.exec))?;
            }
        }
        let frame = self.pop_frame()?;
        self.enter(join, &frame.incoming)
    }

    /// Lanes may part: first those for which the condition holds, then the others.
    fn divergent_if(&mut self, cond: Val<'c>, then: Block, otherwise: Block) -> Result<Flow> {
        let before = self.exec;
        let cond = self.vector(cond)?;
        let exec = self.exec_mask();
        let mut lost = false;
        let mut after = Vec::new();
        for (body, negate) in [(then, false), (otherwise, true)] {
            let side = if negate { self.e.not(cond)? } else { cond };
            let mask = if before.mask.is_some() { self.e.and(exec, side)? } else { side };
            let (rest, lost_here) = self.arm(mask, body)?;
            after.push(rest);
            lost |= lost_here;
        }
        if !lost {
            self.exec = before;
            return Ok(Flow::Next);
        }
        self.exec = Exec { mask: Some(self.e.or(after[0], after[1])?) };
        self.skip_if_none()?;
        Ok(Flow::Next)
    }

    /// One side of a divergent `if`, executed if `mask` has any lane. Gives the lanes that reach
    /// its end, and whether some may not.
    fn arm(&mut self, mask: V<'c>, body: Block) -> Result<(V<'c>, bool)> {
        let f = self.f;
        if f.block(body).is_empty() {
            return Ok((mask, false));
        }
        let [run, join] = ["arm", "endarm"].map(|n| self.new_block(n));
        let any = self.e.any(mask)?;
        self.e.cond_br(any, run, join)?;
        self.push_frame(None, true, join)?;
        let from = self.e.here()?;
        self.frames.stack.last_mut().expect("just pushed").incoming.push((None, from));
        self.e.b.position_at_end(run);
        self.exec = Exec { mask: Some(mask) };
        if self.block(body)? == Flow::Next {
            self.jump_to_join(self.frames.stack.len() - 1, Some(self.exec))?;
        }
        let frame = self.pop_frame()?;
        if !frame.lost {
            self.e.b.position_at_end(join);
            return Ok((mask, false));
        }
        let rest = self.enter_masked(join, &frame.incoming)?;
        Ok((rest, true))
    }
}

/// Blocks and loops.
impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_block(&mut self, label: Label, body: Block) -> Result<Flow> {
        let divergent = self.uniformity.is_divergent_label(label);
        let join = self.new_block("endblock");
        let before = self.exec;
        self.push_frame(Some(label), divergent, join)?;
        if self.block(body)? == Flow::Next {
            self.jump_to_join(self.frames.stack.len() - 1, Some(self.exec))?;
        }
        let frame = self.pop_frame()?;
        let Some(left) = frame.left else { return self.enter(join, &frame.incoming) };
        if frame.incoming.is_empty() {
            self.discard(join)?;
            return Ok(Flow::Left);
        }
        if !frame.lost {
            // Every lane that came in is here again.
            self.e.b.position_at_end(join);
            self.exec = before;
            return Ok(Flow::Next);
        }
        let reached = self.enter_masked(join, &frame.incoming)?;
        let left = self.load_set(left)?;
        self.exec = Exec { mask: Some(self.e.or(reached, left)?) };
        self.skip_if_none()?;
        Ok(Flow::Next)
    }

    pub(crate) fn lower_loop(&mut self, inst: Inst, label: Label, body: Block) -> Result<Flow> {
        if self.uniformity.is_divergent_label(label) {
            self.divergent_loop(label, body)
        } else {
            self.uniform_loop(inst, label, body)
        }
    }

    /// A loop whose lanes all start the next round, or all leave.
    fn uniform_loop(&mut self, inst: Inst, label: Label, body: Block) -> Result<Flow> {
        let [header, join] = ["loop", "endloop"].map(|n| self.new_block(n));
        let before = self.e.here()?;
        self.e.br(header)?;
        self.e.b.position_at_end(header);
        let entered = self.exec;
        let phi = if self.may_lose_lanes(label, body) {
            let mask = self.exec_mask();
            let phi = self.e.b.build_phi(mask.get_type(), "exec")?;
            phi.add_incoming(&[(&mask, before)]);
            self.exec = Exec { mask: Some(phi.as_basic_value()) };
            self.outlive(entered);
            Some(phi)
        } else {
            None
        };
        self.push_frame(Some(label), false, join)?;
        if let Some(frame) = self.frames.stack.last_mut() {
            frame.header = Some((header, SmallVec::new()));
            frame.is_short = counted::count(self.f, inst).is_some_and(|c| c.rounds() <= MAX_SHORT);
        }
        if self.block(body)? == Flow::Next {
            self.jump_to_join(self.frames.stack.len() - 1, Some(self.exec))?;
        }
        let frame = self.pop_frame()?;
        for (exec, from) in frame.header.iter().flat_map(|(_, ways)| ways) {
            match (phi, exec) {
                (Some(phi), Some(exec)) => phi.add_incoming(&[(&self.mask_of(*exec), *from)]),
                (None, Some(exec)) if *exec == entered => {}
                _ => return Err(Error::bug("lanes got lost in a uniform loop")),
            }
        }
        self.enter(join, &frame.incoming)
    }

    /// A loop that lanes repeat a different number of times.
    fn divergent_loop(&mut self, label: Label, body: Block) -> Result<Flow> {
        let [header, join, latch, exit] = ["loop", "endbody", "repeat", "endloop"].map(|n| self.new_block(n));
        let mask_ty = self.exec_mask().get_type();
        let done = self.alloca(mask_ty, "done")?;
        self.clear_set(done)?;
        let before = self.exec;
        let (entered, from) = (self.exec_mask(), self.e.here()?);
        self.e.br(header)?;

        self.e.b.position_at_end(header);
        let phi = self.e.b.build_phi(mask_ty, "exec")?;
        phi.add_incoming(&[(&entered, from)]);
        self.exec = Exec { mask: Some(phi.as_basic_value()) };
        self.push_frame(Some(label), true, join)?;
        if self.block(body)? == Flow::Next {
            self.jump_to_join(self.frames.stack.len() - 1, Some(self.exec))?;
        }
        let frame = self.pop_frame()?;
        let Some(again) = frame.left.filter(|_| !frame.incoming.is_empty()) else {
            return Err(Error::bug("the body of a divergent loop has no end"));
        };
        let reached = self.enter_masked(join, &frame.incoming)?;
        self.add_to_set(done, reached)?;
        let next = self.load_set(again)?;
        let any = self.e.any(next)?;
        self.e.cond_br(any, latch, exit)?;
        self.e.b.position_at_end(latch);
        self.leave_if_stopped()?;
        phi.add_incoming(&[(&next, self.e.here()?)]);
        self.e.br(header)?;

        self.e.b.position_at_end(exit);
        if !frame.lost {
            // Every lane that came in has left by the end.
            self.exec = before;
            return Ok(Flow::Next);
        }
        self.exec = Exec { mask: Some(self.load_set(done)?) };
        self.skip_if_none()?;
        Ok(Flow::Next)
    }

    /// Whether lanes may leave a loop's body for good while others stay in it.
    fn may_lose_lanes(&self, label: Label, body: Block) -> bool {
        let exits = &self.frames.exits[body.index()];
        exits.returns || exits.labels.iter().any(|&l| l != label && self.uniformity.is_divergent_label(l))
    }
}

/// Leaving.
impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_br(&mut self, label: Label) -> Result<Flow> {
        let target = self
            .frames
            .stack
            .iter()
            .rposition(|f| f.label == Some(label))
            .ok_or_else(|| Error::bug(format!("{label} does not enclose its branch")))?;
        let Some(left) = self.frames.stack[target].left else {
            if self.frames.stack[target..].iter().any(|f| f.divergent && f.label.is_none()) {
                return Err(Error::bug(format!("a branch to {label} diverges, against the analysis")));
            }
            self.jump(target)?;
            return Ok(Flow::Left);
        };
        let exec = self.exec_mask();
        self.add_to_set(left, exec)?;
        if let Some(waiting) = self.frames.innermost_divergent() {
            self.frames.lose(target + 1, waiting);
        }
        self.go_on_without_lanes()?;
        Ok(Flow::Left)
    }

    /// All lanes branch to the label of a construct in which none waits.
    fn jump(&mut self, target: usize) -> Result<()> {
        if self.frames.stack[target].header.is_none() {
            return self.jump_to_join(target, Some(self.exec));
        }
        if !self.frames.stack[target].is_short {
            self.leave_if_stopped()?;
        }
        let (from, exec) = (self.e.here()?, self.exec);
        if let Some((header, ways)) = &mut self.frames.stack[target].header {
            ways.push((Some(exec), from));
            let header = *header;
            self.e.br(header)?;
        }
        Ok(())
    }

    pub(crate) fn lower_return(&mut self) -> Result<Flow> {
        if let Some(i) = self.frames.innermost_divergent() {
            self.frames.lose(0, i);
        }
        self.go_on_without_lanes()?;
        Ok(Flow::Left)
    }

    /// Behind a construct that all lanes entered which had not returned: those that are missing have returned, if none
    /// waits further out.
    pub(crate) fn outlive(&mut self, before: Exec<'c>) {
        if before == self.alive && self.frames.innermost_divergent().is_none() {
            self.alive = self.exec;
        }
    }

    /// Jumps to where lanes may wait; returns if there is no such place.
    fn go_on_without_lanes(&mut self) -> Result<()> {
        match self.frames.innermost_divergent() {
            Some(i) => self.jump_to_join(i, None),
            None => self.e.br(self.prologue.ret),
        }
    }

    /// Goes on only if any lane is active.
    fn skip_if_none(&mut self) -> Result<()> {
        let [some, none] = ["some", "none"].map(|n| self.new_block(n));
        let mask = self.exec_mask();
        let any = self.e.any(mask)?;
        self.e.cond_br(any, some, none)?;
        self.e.b.position_at_end(none);
        self.go_on_without_lanes()?;
        self.e.b.position_at_end(some);
        Ok(())
    }

    /// Returns from the function when the host wants the dispatch to end.
    pub(crate) fn leave_if_stopped(&mut self) -> Result<()> {
        let go_on = self.new_block("go_on");
        let is_set = self.is_stopped()?;
        self.e.cond_br(is_set, self.prologue.ret, go_on)?;
        self.e.b.position_at_end(go_on);
        Ok(())
    }

    /// Whether the host wants the dispatch to end.
    pub(crate) fn is_stopped(&mut self) -> Result<V<'c>> {
        let stop = self.field_ptr(Field::Stop)?;
        let flag = self.e.load(self.e.cx.i32_type(), stop, 4)?;
        // Volatile, so that it is read in every round, yet nothing else is ordered by it.
        self.e.set_volatile(flag)?;
        self.e.icmp(IntPredicate::NE, flag, self.e.i32(0))
    }
}

/// Blocks, frames and sets of lanes.
impl<'c> Lower<'_, 'c> {
    pub(crate) fn new_block(&self, name: &str) -> BasicBlock<'c> {
        self.e.new_block(self.prologue.function, name)
    }

    /// Enters a construct.
    fn push_frame(&mut self, label: Option<Label>, divergent: bool, join: BasicBlock<'c>) -> Result<()> {
        let mut left = None;
        if divergent && label.is_some() {
            let set = self.alloca(self.exec_mask().get_type(), "left")?;
            self.clear_set(set)?;
            left = Some(set);
        }
        self.frames.stack.push(Frame {
            label,
            divergent,
            lost: false,
            join,
            incoming: SmallVec::new(),
            left,
            header: None,
            is_short: false,
        });
        Ok(())
    }

    fn pop_frame(&mut self) -> Result<Frame<'c>> {
        self.frames.stack.pop().ok_or_else(|| Error::bug("no construct to leave"))
    }

    /// Jumps to a construct's end.
    fn jump_to_join(&mut self, frame: usize, exec: Option<Exec<'c>>) -> Result<()> {
        let from = self.e.here()?;
        let frame = &mut self.frames.stack[frame];
        frame.incoming.push((exec, from));
        let join = frame.join;
        self.e.br(join)
    }

    /// Goes on at a block that all active lanes reach together.
    fn enter(&mut self, join: BasicBlock<'c>, incoming: &Incoming<'c>) -> Result<Flow> {
        let Some(&(first, _)) = incoming.first() else {
            self.discard(join)?;
            return Ok(Flow::Left);
        };
        self.e.b.position_at_end(join);
        match first {
            Some(exec) if incoming.iter().all(|&(e, _)| e == Some(exec)) => self.exec = exec,
            _ => {
                let mask = self.enter_masked(join, incoming)?;
                self.exec = Exec { mask: Some(mask) };
            }
        }
        Ok(Flow::Next)
    }

    /// Goes on at a block and gives the lanes that reach it, which may be none.
    fn enter_masked(&mut self, join: BasicBlock<'c>, incoming: &Incoming<'c>) -> Result<V<'c>> {
        self.e.b.position_at_end(join);
        let none = self.exec_mask().get_type().const_zero();
        let incoming: SmallVec<[_; 4]> =
            incoming.iter().map(|&(e, from)| (e.map_or(none, |e| self.mask_of(e)), from)).collect();
        self.e.merge(&incoming)
    }

    /// Removes a block that nothing jumps to.
    fn discard(&self, block: BasicBlock<'c>) -> Result<()> {
        self.e.delete_block(block)
    }

    fn clear_set(&mut self, set: PointerValue<'c>) -> Result<()> {
        let none = self.exec_mask().get_type().const_zero();
        self.e.b.build_store(set, none)?;
        Ok(())
    }

    fn load_set(&mut self, set: PointerValue<'c>) -> Result<V<'c>> {
        let ty = self.exec_mask().get_type();
        Ok(self.e.b.build_load(ty, set, "")?)
    }

    fn add_to_set(&mut self, set: PointerValue<'c>, lanes: V<'c>) -> Result<()> {
        let old = self.load_set(set)?;
        let new = self.e.or(old, lanes)?;
        self.e.b.build_store(set, new)?;
        Ok(())
    }
}
