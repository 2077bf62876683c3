//! Scratch memory for matrices: variables for the whole run, slots of values while they are in use.
//!
//! Slots are reused, so that what is live stays in the cache however long the code is. Where the subgroups of a
//! work-group wait for each other they run in turn, each up to the next barrier: what is not in use across a barrier
//! lies where it lies for the others, too, so that not every subgroup's tiles go through the first cache.
//!
//! Where tiles lie modulo 4096 matters: a processor takes a load for one of what it is about to store if the
//! addresses agree in the lower bits, and waits. A multiplication goes through the same columns of B and of the
//! sums, so factors lie half a block of columns apart from everything else.

use super::once::Once;
use super::places::{Place, Places};
use super::schedule::Schedule;
use super::uses::{Uses, nested};
use super::views::Views;
use crate::lower::waits;
use phalanx_ir::{Block, Function, Inst, Op, Type, Use, Value, Var};
use std::collections::BTreeMap;

/// Bytes of a row that a multiplication works on at a time, at most, and of two such.
const BLOCK: u64 = 256;
const BLOCKS: u64 = 2 * BLOCK;

/// Size and place modulo [`BLOCKS`] of a tile.
type Kind = (u64, u64);

/// Whose memory something lies in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Memory {
    /// The subgroup's own.
    #[default]
    Own,
    /// That of whichever subgroup of the work-group runs.
    Common,
}

/// A place in scratch memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) memory: Memory,
    /// In bytes.
    pub(crate) offset: u64,
}

impl Slot {
    /// The place so many bytes behind.
    pub(crate) fn behind(self, bytes: u64) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }
}

/// Where everything lies.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    vars: BTreeMap<Var, Slot>,
    values: BTreeMap<Value, Slot>,
    /// What a kernel works with while it is called.
    pub(crate) scratch: Slot,
    /// What is loaded once for all subgroups, with numbers from 0 on; some tiles are kept of each.
    kept: BTreeMap<Value, u32>,
    /// Total sizes, by kind of memory.
    bytes: [u64; 2],
}

/// Slots that are not in use, by their memory and kind.
type Free = BTreeMap<(Memory, Kind), Vec<u64>>;

impl Slots {
    /// Places everything. `scratch` bytes are for kernels; `tile_bytes` gives the size of a matrix variable's or
    /// value's tile, a multiple of 64.
    pub(crate) fn of(
        func: &Function,
        uses: &Uses,
        (places, views): (&Places, &Views),
        schedule: &Schedule,
        once: &Once,
        scratch: u64,
        tile_bytes: impl Fn(Type) -> u64,
    ) -> Self {
        let waits = Waits::of(func);
        let mut this = Self::default();
        this.scratch = this.reserve(waits.between(), scratch, 0);
        for (i, var) in func.vars.iter().enumerate() {
            if var.ty.mat().is_some() {
                // One more, for indices out of range.
                let bytes = tile_bytes(var.ty) * (u64::from(var.count) + 1);
                let slot = this.reserve(Memory::Own, bytes, phase(var.ty));
                this.vars.insert(Var::new(i), slot);
            }
        }
        let mut free = Free::new();
        let ctx =
            Context { func, uses, places, views, schedule, once, waits: &waits, tile_bytes: &tile_bytes };
        this.allocate_block(&ctx, Function::ENTRY, &mut free);
        this
    }

    /// The slot of element 0 of a matrix variable.
    pub(crate) fn var(&self, var: Var) -> Slot {
        self.vars[&var]
    }

    /// A value's slot.
    pub(crate) fn value(&self, v: Value) -> Slot {
        self.values[&v]
    }

    /// Bytes of a kind of memory.
    pub(crate) fn bytes(&self, memory: Memory) -> u64 {
        self.bytes[memory as usize]
    }

    fn allocate_block(&mut self, ctx: &Context<'_>, block: Block, free: &mut Free) {
        // Slots by the position after which they are free.
        let mut ends: BTreeMap<usize, Vec<(Kind, Slot)>> = BTreeMap::new();
        for (pos, &inst) in ctx.func.block(block).iter().enumerate() {
            for nested in nested(&ctx.func.inst(inst).op) {
                self.allocate_block(ctx, nested, free);
            }
            for &v in &ctx.func.inst(inst).results {
                if ctx.func.ty(v).mat().is_none() || ctx.places.of_value(v) != Place::Slot(v) {
                    continue;
                }
                if let Some((base, bytes)) = ctx.views.view(v) {
                    self.values.insert(v, self.values[&base].behind(bytes));
                } else if !self.values.contains_key(&v) {
                    let (kind, end) = (ctx.kind(v), ctx.end(v).max(pos));
                    let memory = ctx.waits.across(block, pos..end + 1);
                    let run = ctx.views.run(v);
                    if run.is_none() && memory == Memory::Common && ctx.once.contains(v) {
                        let bytes = ctx.once.bytes_with_parts(v).unwrap_or(kind.0);
                        self.keep(v, (bytes, kind.1), ctx.once.ways);
                        continue;
                    }
                    let slot = self.take(free, memory, kind);
                    let alone = [v];
                    let members = run.map_or(alone.as_slice(), |run| &run.members);
                    let tile = kind.0 / members.len() as u64;
                    self.values
                        .extend((0..).zip(members).map(|(i, &member)| (member, slot.behind(i * tile))));
                    ends.entry(end).or_default().push((kind, slot));
                }
            }
            while let Some(entry) = ends.first_entry().filter(|e| *e.key() <= pos) {
                give_back(entry.remove(), free);
            }
        }
        for slots in ends.into_values() {
            give_back(slots, free);
        }
    }

    /// Reserves tiles that stay while other subgroups run.
    fn keep(&mut self, v: Value, (bytes, phase): Kind, ways: u32) {
        let slot = self.reserve(Memory::Common, bytes * u64::from(ways), phase);
        self.values.insert(v, slot);
        self.kept.insert(v, self.kept.len() as u32);
    }

    /// The number of a value that is loaded once for all subgroups.
    pub(crate) fn kept(&self, v: Value) -> Option<u32> {
        self.kept.get(&v).copied()
    }

    /// How many are.
    pub(crate) fn kept_count(&self) -> usize {
        self.kept.len()
    }

    fn take(&mut self, free: &mut Free, memory: Memory, kind: Kind) -> Slot {
        match free.get_mut(&(memory, kind)).and_then(Vec::pop) {
            Some(offset) => Slot { memory, offset },
            None => self.reserve(memory, kind.0, kind.1),
        }
    }

    /// Memory that was never used, at a place modulo [`BLOCKS`].
    fn reserve(&mut self, memory: Memory, bytes: u64, phase: u64) -> Slot {
        let end = &mut self.bytes[memory as usize];
        let offset = aligned(*end, phase);
        *end = (offset + bytes).next_multiple_of(64);
        Slot { memory, offset }
    }
}

fn give_back(slots: Vec<(Kind, Slot)>, free: &mut Free) {
    for (kind, Slot { memory, offset }) in slots {
        free.entry((memory, kind)).or_default().push(offset);
    }
}

/// Where subgroups wait for each other.
struct Waits {
    /// For each block the positions at which they do, or in which.
    at: Vec<Vec<usize>>,
    any: bool,
}

impl Waits {
    fn of(func: &Function) -> Self {
        let mut this = Self { at: vec![Vec::new(); func.blocks.len()], any: false };
        this.any = this.visit(func, Function::ENTRY);
        this
    }

    /// Whether they do in a block. Nesting is bounded by the verifier, so recursion is.
    fn visit(&mut self, func: &Function, block: Block) -> bool {
        for (pos, &inst) in func.block(block).iter().enumerate() {
            let op = &func.inst(inst).op;
            let inside = nested(op).filter(|&nested| self.visit(func, nested)).count() > 0;
            if inside || waits(op) {
                self.at[block.index()].push(pos);
            }
        }
        !self.at[block.index()].is_empty()
    }

    /// The memory of what is in use between barriers. Without any the subgroups are no different from each other: each
    /// runs to its end before the next begins.
    fn between(&self) -> Memory {
        if self.any { Memory::Common } else { Memory::Own }
    }

    /// The memory of what is in use within these positions of a block.
    fn across(&self, block: Block, positions: std::ops::Range<usize>) -> Memory {
        let list = &self.at[block.index()];
        let next = list[list.partition_point(|&pos| pos < positions.start)..].first();
        if next.is_some_and(|pos| positions.contains(pos)) { Memory::Own } else { self.between() }
    }
}

/// Where a tile of this type lies modulo [`BLOCKS`].
fn phase(ty: Type) -> u64 {
    match ty.mat().map(|m| m.use_) {
        Some(Use::A | Use::B) => BLOCK,
        _ => 0,
    }
}

/// The first offset from one on that is of a phase.
fn aligned(offset: u64, phase: u64) -> u64 {
    (offset + BLOCKS - phase).next_multiple_of(BLOCKS) - BLOCKS + phase
}

struct Context<'a> {
    func: &'a Function,
    uses: &'a Uses,
    places: &'a Places,
    views: &'a Views,
    schedule: &'a Schedule,
    once: &'a Once,
    waits: &'a Waits,
    tile_bytes: &'a dyn Fn(Type) -> u64,
}

impl Context<'_> {
    /// Of the slot of a value, or of its run.
    fn kind(&self, v: Value) -> Kind {
        let ty = self.func.ty(v);
        let count = self.views.run(v).map_or(1, |run| run.members.len());
        ((self.tile_bytes)(ty) * count as u64, phase(ty))
    }

    /// The last position in its block at which the slot of `v`, or its run, is read or written.
    fn end(&self, v: Value) -> usize {
        match self.views.run(v) {
            None => self.last_use(v),
            Some(run) => {
                let values = run.members.iter().chain(&run.views);
                values.map(|&v| self.last_use(v)).max().unwrap_or(0)
            }
        }
    }

    /// The last position in its block at which the value is used, or defined. A use by a multiply-add counts where that
    /// is done; so does a definition by one.
    fn last_use(&self, v: Value) -> usize {
        let done = |inst: Inst, pos: usize| match self.func.inst(inst).op {
            Op::MatMulAdd(_) => self.schedule.done_at.get(&inst).copied().unwrap_or(pos),
            _ => pos,
        };
        let (block, def_pos) = self.uses.def[v.index()];
        let insts = self.func.block(block);
        let uses = self.uses.uses[v.index()].iter().map(|&pos| done(insts[pos], pos));
        uses.fold(done(insts[def_pos], def_pos), usize::max)
    }
}
