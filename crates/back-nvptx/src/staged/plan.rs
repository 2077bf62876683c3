//! Which blocks of shared memory producers can fill, and what producers and invocations execute.
//!
//! A loop is found by its two barriers of the work-group, which stand in one block:
//!
//! ```text
//! loop {                         loop {
//!   barrier        free            copy
//!   copy                           barrier        full
//!   barrier        full            read
//!   read                           barrier        free
//! }                              }
//! ```
//!
//! The copies are the only ones that write to shared memory, up to the end of the outermost loop around, and nothing else
//! is written there that another invocation could see; each round writes all that it reads ([`Walk`]), so that it does not
//! matter which of several blocks that is.

use super::fuse::{Fused, fuse};
use super::walk::{Access, MAX_STEPS, Products, Walk};
use crate::abi::SUBGROUP_SIZE;
use crate::arch::Arch;
use phalanx_ir::{
    Barrier, Block, Function, Inst, Label, MatType, Module, MulAddFlags, Op, Scope, Space, Type, Uniformity,
    Value, Var,
};
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

/// Most blocks that the ring holds, and fewest that are worth it.
const MAX_SLOTS: u32 = 8;
const MIN_SLOTS: u32 = 2;
/// What slots begin at multiples of, and those of factors for `wgmma`.
const ALIGN: u32 = 1024;
/// Bytes of the words of all slots.
const WORDS: u32 = 16 * MAX_SLOTS;
/// What the hardware keeps of each work-group's shared memory for itself.
const RESERVED: u32 = 1024;
/// Threads that give and take registers together.
const GROUP: u32 = 128;
/// Registers of a multiprocessor.
const REGISTERS: u32 = 65536;
/// Most instructions that copies execute one after the other.
const MAX_ROW: usize = 1024;
/// Most invocations: with as many threads again each has 128 registers, and those that multiply have 200.
const MAX_INVOCATIONS: u32 = 256;
/// Registers of a thread that multiplies besides its sums.
const BESIDE_SUMS: u32 = 26;
/// Registers that a producer keeps.
const OF_PRODUCER: u32 = 56;

pub(super) const WORKGROUP: Barrier = Barrier { execution: Scope::Workgroup, memory: Scope::Workgroup };

/// The plan of a module.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The barriers behind which a block is there, and behind which it may be filled anew.
    pub(super) full: Inst,
    pub(super) free: Inst,
    /// Before what producers wait for an empty block.
    pub(super) start: Inst,
    /// The outermost loop around.
    pub(super) around: Inst,
    /// By instruction: whether producers execute it, and whether invocations do.
    pub(super) is_produced: Vec<bool>,
    pub(super) is_consumed: Vec<bool>,
    /// The loads that nothing but a store takes, by store.
    pub(super) copies: BTreeMap<Inst, Inst>,
    /// What copies execute, one after the other, if it is the same for all.
    pub(super) row: Option<Row>,
    /// How the block is multiplied as a whole, if it is.
    pub(super) fused: Option<Rc<Fused>>,
    /// Where the ring begins, how many blocks it has, and how far it is from one to the next.
    pub(super) words: u32,
    pub(super) slots: u32,
    pub(super) slot_bytes: u32,
    /// Work-groups that a multiprocessor has room for.
    pub(crate) together: u32,
}

impl Plan {
    /// Where the first block begins.
    pub(super) fn slots_start(&self) -> u32 {
        (self.words + WORDS).next_multiple_of(ALIGN)
    }

    /// Bytes of shared memory, with the ring.
    pub(crate) fn shared_bytes(&self) -> u32 {
        self.slots_start() + self.slots * self.slot_bytes
    }

    /// Registers of a producer and of an invocation, if they can be shared out.
    pub(crate) fn registers(&self, ir: &Module) -> Option<[u32; 2]> {
        let threads = ir.workgroup_invocations();
        let each = REGISTERS / (2 * threads * self.together) / 8 * 8;
        (threads.is_multiple_of(GROUP) && each < 255)
            .then(|| [OF_PRODUCER, (2 * each - OF_PRODUCER).min(240)])
    }
}

/// Instructions that take the place of some in a block.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) first: Inst,
    pub(super) count: usize,
    pub(super) executed: Vec<Inst>,
    /// Of the stores among them, from which one's place the place follows, and how far it is from there.
    pub(super) near: Vec<(usize, u32)>,
}

/// A module, with what is asked of it often.
pub(super) struct Search<'a> {
    f: &'a Function,
    /// Instructions in program order, and the number of each.
    pub(super) order: Vec<Inst>,
    number: Vec<usize>,
    /// By instruction: the block that it is in.
    blocks: Vec<Block>,
    /// By block: the instruction that it belongs to.
    parents: Vec<Option<Inst>>,
}

/// The plan of a module; nothing if it has no such loop.
pub(crate) fn plan(ir: &Module, arch: Arch, align: impl Fn(Value) -> u64) -> Option<Plan> {
    let f = &ir.body;
    let threads = ir.workgroup_invocations();
    let is_group = |&v: &Value| f.ty(v).mat().is_some_and(|m| m.scope == Scope::Workgroup);
    let has_group = f.insts.iter().any(|info| info.args.iter().chain(&info.results).any(is_group));
    if !arch.has_wgmma() || ir.shared_bytes == 0 || has_group {
        return None;
    }
    if !threads.is_multiple_of(SUBGROUP_SIZE) || threads > MAX_INVOCATIONS {
        return None;
    }
    let search = Search::new(f);
    let (first, second) = search.barriers()?;
    let work = search.blocks[first.index()];
    let loops = |&inst: &Inst| matches!(f.inst(inst).op, Op::Loop { .. });
    let outermost = search.around(first).filter(loops).last()?;
    let around = search.exit(outermost)?;
    let insts = f.block(work);
    let at = |inst: Inst| insts.iter().position(|&other| other == inst);
    let (begin, end) = (at(first)?, at(second)?);
    let within = search.all_in(&[around]);
    let stores: Vec<Inst> =
        within.iter().copied().filter(|&inst| matches!(f.inst(inst).op, Op::Store(_))).collect();
    let [before, between, behind] = [&insts[..begin], &insts[begin + 1..end], &insts[end + 1..]];
    let holds = |part: &[Inst]| {
        let part: HashSet<Inst> = search.all_in(part).into_iter().collect();
        !stores.is_empty() && stores.iter().all(|store| part.contains(store))
    };
    let (full, free, copying, reading) = if holds(between) {
        (second, first, between, behind)
    } else if holds(before) {
        (first, second, before, between)
    } else {
        return None;
    };
    let stored: HashSet<Inst> = stores.iter().copied().collect();
    let writes = |&inst: &Inst| search.all_in(&[inst]).iter().any(|inst| stored.contains(inst));
    let start = copying.iter().copied().find(writes)?;
    // The last instruction may begin the next round.
    let reading = match reading.split_last() {
        Some((&last, rest)) if matches!(f.inst(last).op, Op::Br(_)) => rest,
        _ => reading,
    };
    search.stays(copying)?;
    search.stays(reading)?;
    search.is_calm(around, &stored)?;
    let uniformity = Uniformity::of_workgroup(ir);
    if uniformity.is_divergent_block(work) || uniformity.has_divergent_return() {
        return None;
    }
    let multiplies = |&inst: &Inst| matches!(f.inst(inst).op, Op::MatMulAdd(_));
    if !search.all_in(reading).iter().any(multiplies) {
        return None;
    }
    let staged = staged(ir, copying, reading)?;
    let others = search.others(ir, around, &stored, reading, &staged)?;
    let copies = search.copies(&stores, align);
    if copies.len() != stores.len() {
        return None;
    }
    let is_alone = search.around(first).filter(loops).count() == 1 && search.stays(&[outermost]).is_some();
    let fused = match is_alone {
        true => staged
            .subgroups
            .as_ref()
            .and_then(|subgroups| fuse(ir, &search, around, reading, &staged.copied, subgroups)),
        false => None,
    };
    // The assembler refuses an instruction that has no room in what each thread begins with.
    let most = REGISTERS / (2 * MAX_INVOCATIONS);
    let fused = fused.filter(|fused: &Fused| fused.words() + BESIDE_SUMS <= most);
    let place = |access: &Access| match &fused {
        Some(fused) => fused.place(access),
        None => Some(access.first),
    };
    let row = staged.executed.as_ref().and_then(|executed| {
        let near = near(&staged.copied, ir.workgroup_invocations() as usize, place)?;
        let (first, executed) = (*copying.first()?, executed.clone());
        Some(Row { first, count: copying.len(), executed, near })
    });
    let is_produced = search.produced(around, &stores, full, &copies)?;
    let moved = fused.iter().flat_map(|fused: &Fused| fused.moved.iter().copied());
    let is_consumed = search.consumed(stored.iter().copied().chain(moved).collect());
    let words = others.next_multiple_of(16);
    let slot_bytes = match &fused {
        Some(fused) => fused.bytes(),
        None => (staged.held.len() as u32).next_multiple_of(ALIGN),
    };
    let room = |parts: u32| {
        let start = (words + WORDS).next_multiple_of(ALIGN);
        let room = ((arch.shared_bytes() + RESERVED) / parts - RESERVED).checked_sub(start)?;
        Some((room / slot_bytes).min(MAX_SLOTS))
    };
    // Two work-groups hide what is before and behind each other's loops, where registers and three blocks of each fit.
    let together = if 4 * threads <= 512 && room(2).is_some_and(|slots| slots > MIN_SLOTS) { 2 } else { 1 };
    let slots = room(together).filter(|&slots| slots >= MIN_SLOTS)?;
    Some(Plan {
        full,
        free,
        start,
        around,
        is_produced,
        is_consumed,
        copies,
        row,
        fused: fused.map(Rc::new),
        words,
        slots,
        slot_bytes,
        together,
    })
}

/// The label of a construct.
fn label(op: &Op) -> Option<Label> {
    match *op {
        Op::Block { label, .. } | Op::Loop { label, .. } => Some(label),
        _ => None,
    }
}

/// Bytes of shared memory that are staged: whether each was written by some invocation.
struct Staged {
    held: Vec<bool>,
    /// Where the first is.
    first: u32,
    /// What is copied, by all invocations.
    copied: Vec<Access>,
    /// What subgroups multiply, if they do nothing else with matrices.
    subgroups: Option<Vec<Products>>,
    /// What invocations execute to copy, if all do the same, whatever else there is.
    executed: Option<Vec<Inst>>,
}

/// What the invocations of a work-group write between the barriers, if it holds all that its subgroups read.
fn staged(ir: &Module, copying: &[Inst], reading: &[Inst]) -> Option<Staged> {
    let mut steps = MAX_STEPS;
    let (mut copied, mut subgroups, mut executed) = (Vec::new(), Vec::new(), None);
    let mut held = vec![false; ir.shared_bytes as usize];
    for invocation in 0..ir.workgroup_invocations() {
        let mut walk = Walk::new(ir, invocation, &mut steps);
        walk.run(copying)?;
        for &Access { first, bytes, .. } in &walk.accesses {
            held.get_mut(first as usize..(first + bytes) as usize)?.fill(true);
        }
        let this = walk.executed().filter(|insts| insts.len() <= MAX_ROW).map(<[Inst]>::to_vec);
        executed = if invocation == 0 { this } else { executed.filter(|all| this.as_ref() == Some(all)) };
        copied.extend(walk.accesses);
    }
    let last = held.iter().rposition(|&held| held)?;
    held.truncate(last + 1);
    let first = held.iter().position(|&held| held)? as u32;
    for invocation in (0..ir.workgroup_invocations()).step_by(SUBGROUP_SIZE as usize) {
        let mut walk = Walk::new(ir, invocation, &mut steps);
        walk.run(reading)?;
        for &Access { first, bytes, lines, stride, .. } in &walk.accesses {
            for line in 0..lines {
                let first = (first + line * stride) as usize;
                held.get(first..first + bytes as usize)?.iter().all(|&held| held).then_some(())?;
            }
        }
        subgroups.push(walk.products());
    }
    let subgroups = subgroups.into_iter().collect();
    Some(Staged { held, first, copied, subgroups, executed })
}

/// Of the copies of an invocation, each time from which one's place its own follows for all invocations, and how far it is
/// from there.
fn near(
    copied: &[Access],
    invocations: usize,
    place: impl Fn(&Access) -> Option<u32>,
) -> Option<Vec<(usize, u32)>> {
    let count = copied.len() / invocations;
    let places: Vec<u32> = copied.iter().map(place).collect::<Option<_>>()?;
    (count > 0 && places.len() == count * invocations).then_some(())?;
    let mut near: Vec<(usize, u32)> = Vec::new();
    for i in 0..count {
        let far = |of: usize| places[i].checked_sub(places[of]);
        let follows = |&of: &usize| {
            let all = places.chunks(count).all(|own| own[i].checked_sub(own[of]) == far(of));
            near[of].0 == of && far(of).is_some() && all
        };
        let of = (0..i).find(follows);
        near.push(of.and_then(|of| Some((of, far(of)?))).unwrap_or((i, 0)));
    }
    Some(near)
}

impl<'a> Search<'a> {
    fn new(f: &'a Function) -> Self {
        let mut search = Self {
            f,
            order: Vec::new(),
            number: vec![usize::MAX; f.insts.len()],
            blocks: vec![Function::ENTRY; f.insts.len()],
            parents: vec![None; f.blocks.len()],
        };
        search.walk(Function::ENTRY);
        search
    }

    fn walk(&mut self, block: Block) {
        let f = self.f;
        for &inst in f.block(block) {
            self.number[inst.index()] = self.order.len();
            self.blocks[inst.index()] = block;
            self.order.push(inst);
            for body in f.inst(inst).op.bodies() {
                self.parents[body.index()] = Some(inst);
                self.walk(body);
            }
        }
    }

    /// Some instructions and all within them.
    pub(super) fn all_in(&self, insts: &[Inst]) -> Vec<Inst> {
        let mut all = Vec::new();
        let mut rest: Vec<Inst> = insts.to_vec();
        while let Some(inst) = rest.pop() {
            all.push(inst);
            rest.extend(self.f.inst(inst).op.bodies().flat_map(|body| self.f.block(body)));
        }
        all
    }

    /// The number of the last instruction of a construct.
    fn end(&self, inst: Inst) -> Option<usize> {
        self.all_in(&[inst]).iter().map(|inst| self.number[inst.index()]).max()
    }

    /// The construct whose end is where all go on that leave a loop, but by a return.
    fn exit(&self, looped: Inst) -> Option<Inst> {
        let mut around = looped;
        loop {
            let inside = self.all_in(&[around]);
            let labels: Vec<_> = inside.iter().filter_map(|&inst| label(&self.f.inst(inst).op)).collect();
            let leaves = |inst: &Inst| match self.f.inst(*inst).op {
                Op::Br(to) => !labels.contains(&to),
                _ => false,
            };
            if !inside.iter().any(leaves) {
                return Some(around);
            }
            around = self.around(around).next()?;
        }
    }

    /// The constructs around an instruction, the innermost first.
    fn around(&self, inst: Inst) -> impl Iterator<Item = Inst> + '_ {
        let parent = |inst: Inst| self.parents[self.blocks[inst.index()].index()];
        std::iter::successors(parent(inst), move |&inst| parent(inst))
    }

    /// The two barriers of a loop, if they stand in one block and no other one is in a loop.
    fn barriers(&self) -> Option<(Inst, Inst)> {
        let is_looped = |&inst: &Inst| {
            let is_barrier = matches!(self.f.inst(inst).op, Op::Barrier(barrier)
                if matches!(barrier.execution, Scope::Workgroup | Scope::Device));
            is_barrier && self.around(inst).any(|outer| matches!(self.f.inst(outer).op, Op::Loop { .. }))
        };
        let all: Vec<Inst> = self.order.iter().copied().filter(is_looped).collect();
        let &[first, second] = &all[..] else { return None };
        let is_plain = |inst: Inst| self.f.inst(inst).op == Op::Barrier(WORKGROUP);
        let is_one_block = self.blocks[first.index()] == self.blocks[second.index()];
        (is_plain(first) && is_plain(second) && is_one_block).then_some((first, second))
    }

    /// Whether no branch leaves some instructions.
    fn stays(&self, insts: &[Inst]) -> Option<()> {
        let all = self.all_in(insts);
        let labels: Vec<_> = all.iter().filter_map(|&inst| label(&self.f.inst(inst).op)).collect();
        let stays = |&inst: &Inst| match self.f.inst(inst).op {
            Op::Br(label) => labels.contains(&label),
            Op::Return => false,
            _ => true,
        };
        all.iter().all(stays).then_some(())
    }

    /// Whether up to the end of a loop nothing is written that others could see, but what is staged, and nobody looks what
    /// others wrote meanwhile.
    fn is_calm(&self, around: Inst, stored: &HashSet<Inst>) -> Option<()> {
        let end = self.end(around)?;
        let is_calm = |&inst: &Inst| match self.f.inst(inst).op {
            Op::Store(flags) => stored.contains(&inst) && !flags.volatile,
            Op::MatLoad { flags, .. } | Op::Load(flags) => !flags.volatile,
            Op::MatLoadTensor { access, .. } => !access.flags.volatile,
            Op::Barrier(barrier) => barrier.memory != Scope::Device,
            Op::MatStore { .. }
            | Op::MatStoreTensor(_)
            | Op::Atomic(_)
            | Op::Image(..)
            | Op::VecOuterAdd(_)
            | Op::VecReduceAdd(_) => false,
            _ => true,
        };
        self.order[..=end].iter().all(is_calm).then_some(())
    }

    /// How many bytes from the start of shared memory on are used otherwise than as blocks that are staged: behind the loop,
    /// by what is no part of them. Nothing if that is not known.
    fn others(
        &self,
        ir: &Module,
        around: Inst,
        stored: &HashSet<Inst>,
        reading: &[Inst],
        staged: &Staged,
    ) -> Option<u32> {
        let f = self.f;
        let end = self.end(around)?;
        let reading: HashSet<Inst> = self.all_in(reading).into_iter().collect();
        let is_shared = |v: &Value| f.ty(*v) == Type::Ptr(Space::Shared);
        let mut others = 0;
        for &inst in &self.order {
            let info = f.inst(inst);
            if !info.args.iter().any(is_shared) {
                continue;
            }
            let is_behind = self.number[inst.index()] > end;
            match info.op {
                Op::PtrAdd { .. } => {}
                Op::Store(_) if stored.contains(&inst) => {}
                Op::MatLoad { .. } if reading.contains(&inst) => {}
                Op::Store(_) | Op::Load(_) | Op::MatLoad { .. } | Op::MatStore { .. } | Op::Atomic(_)
                    if is_behind =>
                {
                    let (start, bytes) = self.object(info.args[0])?;
                    let is_apart = start >= staged.held.len() as u32 || start + bytes <= staged.first;
                    is_apart.then_some(())?;
                    others = ir.shared_bytes;
                }
                _ => return None,
            }
        }
        Some(others)
    }

    /// Where in shared memory the object is that a pointer points to, and its size.
    fn object(&self, pointer: Value) -> Option<(u32, u32)> {
        let info = self.f.def(pointer);
        match info.op {
            Op::SharedPtr { offset, bytes } if info.args.is_empty() => Some((offset, bytes)),
            Op::PtrAdd { .. } => self.object(info.args[0]),
            _ => None,
        }
    }

    /// The stores that store what one load gives and nothing else takes, in pieces that asynchronous copies move.
    fn copies(&self, stores: &[Inst], align: impl Fn(Value) -> u64) -> BTreeMap<Inst, Inst> {
        let f = self.f;
        let mut uses = vec![0; f.values.len()];
        for &inst in &self.order {
            for v in &f.inst(inst).args {
                uses[v.index()] += 1;
            }
        }
        let copied = |&store: &Inst| {
            let info = f.inst(store);
            let (place, values) = info.args.split_first()?;
            let load = f.values[values.first()?.index()].def;
            let from = f.inst(load);
            let bytes = u64::from(f.ty(values[0]).scalar()?.bytes()) * values.len() as u64;
            let is_whole = from.results[..] == *values && values.iter().all(|v| uses[v.index()] == 1);
            let fits = matches!(from.op, Op::Load(_))
                && f.ty(from.args[0]) == Type::Ptr(Space::Buffer)
                && self.blocks[load.index()] == self.blocks[store.index()]
                && matches!(bytes, 4 | 8 | 16)
                && align(*place).min(align(from.args[0])) >= bytes;
            (is_whole && fits).then_some((store, load))
        };
        stores.iter().filter_map(copied).collect()
    }

    /// What producers execute; nothing if they can't.
    fn produced(
        &self,
        around: Inst,
        stores: &[Inst],
        full: Inst,
        copies: &BTreeMap<Inst, Inst>,
    ) -> Option<Vec<bool>> {
        let mut slice = Slice::new(self, self.end(around)?);
        for &store in stores {
            slice.inst(store);
        }
        slice.inst(full);
        // What is copied is not loaded.
        for load in copies.values() {
            slice.is_needed[load.index()] = false;
        }
        let is_possible = |&&inst: &&Inst| slice.is_needed[inst.index()] && !self.is_pure(inst);
        let others: Vec<Inst> = self.order.iter().filter(is_possible).copied().collect();
        let is_own = |inst: &Inst| *inst == full || stores.contains(inst);
        others.iter().all(is_own).then_some(slice.is_needed)
    }

    /// What invocations execute: all that acts, but for some, and what that takes.
    fn consumed(&self, left_out: HashSet<Inst>) -> Vec<bool> {
        let mut slice = Slice { left_out, ..Slice::new(self, usize::MAX) };
        for &inst in &self.order {
            let op = &self.f.inst(inst).op;
            let structures = matches!(op, Op::If { .. } | Op::Block { .. } | Op::Loop { .. } | Op::Br(_));
            if op.has_effect() && !structures && op.var().is_none() {
                slice.inst(inst);
            }
        }
        slice.is_needed
    }

    /// How some instructions multiply matrices, if all do alike.
    pub(super) fn products(&self, insts: &[Inst]) -> Option<(MulAddFlags, [MatType; 3])> {
        let mut found = None;
        for &inst in insts {
            let info = self.f.inst(inst);
            let (Op::MatMulAdd(flags), &[a, b, c]) = (&info.op, &info.args[..]) else { continue };
            let of = |v: Value| self.f.ty(v).mat();
            let this = (*flags, [of(a)?, of(b)?, of(c)?]);
            (*found.get_or_insert(this) == this && of(info.results[0]) == of(c)).then_some(())?;
        }
        found
    }

    /// Whether an instruction does nothing but compute, branch and read what the work-group does not write.
    fn is_pure(&self, inst: Inst) -> bool {
        let info = self.f.inst(inst);
        let is_plain = |&v: &Value| self.f.ty(v).mat().is_none();
        let is_shared = |v: &Value| self.f.ty(*v) == Type::Ptr(Space::Shared);
        let is_known = match info.op {
            Op::Load(flags) => !flags.volatile && !info.args.iter().any(is_shared),
            Op::VarStore(_) | Op::VarLoad(_) => true,
            Op::If { .. } | Op::Block { .. } | Op::Loop { .. } | Op::Br(_) | Op::Return => true,
            Op::Subgroup(_) | Op::Clock | Op::Image(..) => false,
            ref op => !op.has_effect() && op.bodies().next().is_none() && op.vars().next().is_none(),
        };
        is_known && info.args.iter().chain(&info.results).all(is_plain)
    }
}

/// What has to be executed for something, up to a place in the program.
struct Slice<'s> {
    search: &'s Search<'s>,
    is_needed: Vec<bool>,
    end: usize,
    vars: HashSet<Var>,
    /// What is not executed whatever needs it.
    left_out: HashSet<Inst>,
}

impl<'s> Slice<'s> {
    fn new(search: &'s Search<'s>, end: usize) -> Self {
        let mut slice = Self {
            search,
            is_needed: vec![false; search.f.insts.len()],
            end,
            vars: HashSet::new(),
            left_out: HashSet::new(),
        };
        let returns = |inst: &Inst| search.f.inst(*inst).op == Op::Return;
        let returns: Vec<Inst> = slice.all(returns).collect();
        returns.into_iter().for_each(|inst| slice.inst(inst));
        slice
    }

    /// The instructions up to there of which something holds.
    fn all(&self, holds: impl Fn(&Inst) -> bool) -> impl Iterator<Item = Inst> {
        let until = self.search.order.len().min(self.end.saturating_add(1));
        self.search.order[..until].iter().copied().filter(move |inst| holds(inst))
    }

    fn inst(&mut self, inst: Inst) {
        let mut rest = vec![inst];
        let (search, f) = (self.search, self.search.f);
        while let Some(inst) = rest.pop() {
            if self.left_out.contains(&inst) || std::mem::replace(&mut self.is_needed[inst.index()], true) {
                continue;
            }
            let info = f.inst(inst);
            rest.extend(info.args.iter().map(|&v| f.values[v.index()].def));
            rest.extend(search.around(inst));
            for (var, _) in info.op.vars() {
                if self.vars.insert(var) {
                    rest.extend(
                        self.all(|&i| f.inst(i).op.vars().any(|(v, access)| v == var && access.writes())),
                    );
                }
            }
            match info.op {
                Op::Loop { label, .. } | Op::Block { label, .. } => {
                    rest.extend(self.all(|&i| f.inst(i).op == Op::Br(label)));
                }
                Op::If { .. } => {}
                // All of a region.
                _ => {
                    let insts: Vec<Inst> = info.op.bodies().flat_map(|body| f.block(body)).copied().collect();
                    rest.extend(search.all_in(&insts));
                }
            }
        }
    }
}
