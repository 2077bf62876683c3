//! Scratch memory for matrices: variables for the whole run, slots of values while they are in use.
//!
//! Slots are reused, so that what is live stays in the cache however long the code is.
//!
//! Where tiles lie modulo 4096 matters: a processor takes a load for one of what it is about to store if the
//! addresses agree in the lower bits, and waits. A multiplication goes through the same columns of B and of the
//! sums, so factors lie half a block of columns apart from everything else.

use super::places::{Place, Places};
use super::schedule::Schedule;
use super::uses::{Uses, nested};
use phalanx_ir::{Block, Function, Inst, Op, Type, Use, Value, Var};
use std::collections::BTreeMap;

/// Bytes of a row that a multiplication works on at a time, at most, and of two such.
const BLOCK: u64 = 256;
const BLOCKS: u64 = 2 * BLOCK;

/// Size and place modulo [`BLOCKS`] of a tile.
type Kind = (u64, u64);

/// Offsets into scratch memory in bytes.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    vars: BTreeMap<Var, u64>,
    values: BTreeMap<Value, u64>,
    /// Total size.
    pub(crate) bytes: u64,
}

impl Slots {
    /// Places everything from `start` on. `tile_bytes` gives the size of a matrix variable's or
    /// value's tile, a multiple of 64.
    pub(crate) fn of(
        func: &Function,
        uses: &Uses,
        places: &Places,
        schedule: &Schedule,
        start: u64,
        tile_bytes: impl Fn(Type) -> u64,
    ) -> Self {
        let mut this = Self { bytes: start.next_multiple_of(64), ..Self::default() };
        for (i, var) in func.vars.iter().enumerate() {
            if var.ty.mat().is_some() {
                this.bytes = aligned(this.bytes, phase(var.ty));
                this.vars.insert(Var::new(i), this.bytes);
                // One more, for indices out of range.
                this.bytes += tile_bytes(var.ty) * (u64::from(var.count) + 1);
            }
        }
        let mut free = BTreeMap::new();
        let ctx = Context { func, uses, places, schedule, tile_bytes: &tile_bytes };
        this.allocate_block(&ctx, Function::ENTRY, &mut free);
        this
    }

    /// Offset of element 0 of a matrix variable.
    pub(crate) fn var(&self, var: Var) -> u64 {
        self.vars[&var]
    }

    /// Offset of a value's slot.
    pub(crate) fn value(&self, v: Value) -> u64 {
        self.values[&v]
    }

    fn allocate_block(&mut self, ctx: &Context<'_>, block: Block, free: &mut BTreeMap<Kind, Vec<u64>>) {
        // Values by the position after which their slot is free.
        let mut ends: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
        for (pos, &inst) in ctx.func.block(block).iter().enumerate() {
            for nested in nested(&ctx.func.inst(inst).op) {
                self.allocate_block(ctx, nested, free);
            }
            for &v in &ctx.func.inst(inst).results {
                if ctx.func.ty(v).mat().is_some() && ctx.places.of_value(v) == Place::Slot(v) {
                    let offset = self.take(free, ctx.kind(v));
                    self.values.insert(v, offset);
                    ends.entry(ctx.last_use(v, inst, pos)).or_default().push(v);
                }
            }
            while let Some(entry) = ends.first_entry().filter(|e| *e.key() <= pos) {
                for v in entry.remove() {
                    free.entry(ctx.kind(v)).or_default().push(self.values[&v]);
                }
            }
        }
        for v in ends.into_values().flatten() {
            free.entry(ctx.kind(v)).or_default().push(self.values[&v]);
        }
    }

    fn take(&mut self, free: &mut BTreeMap<Kind, Vec<u64>>, kind: Kind) -> u64 {
        if let Some(offset) = free.get_mut(&kind).and_then(Vec::pop) {
            return offset;
        }
        let (bytes, phase) = kind;
        let offset = aligned(self.bytes, phase);
        self.bytes = offset + bytes;
        offset
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
    schedule: &'a Schedule,
    tile_bytes: &'a dyn Fn(Type) -> u64,
}

impl Context<'_> {
    fn kind(&self, v: Value) -> Kind {
        let ty = self.func.ty(v);
        ((self.tile_bytes)(ty), phase(ty))
    }

    /// The last position in its block at which the slot of `v` is read or written. A use by a
    /// multiply-add counts where that is done; so does a definition by one.
    fn last_use(&self, v: Value, def: Inst, def_pos: usize) -> usize {
        let done = |inst: Inst, pos: usize| match self.func.inst(inst).op {
            Op::MatMulAdd(_) => self.schedule.done_at.get(&inst).copied().unwrap_or(pos),
            _ => pos,
        };
        let block = self.uses.def[v.index()].0;
        let insts = self.func.block(block);
        let uses = self.uses.uses[v.index()].iter().map(|&pos| done(insts[pos], pos));
        uses.fold(done(def, def_pos), usize::max)
    }
}
