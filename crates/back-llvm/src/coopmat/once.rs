//! Matrices that subgroups load once for all.
//!
//! Where a work-group stages factors through shared memory, several of its subgroups load the same tile. Subgroups run in
//! turn, each up to the next barrier, and have the memory of such tiles in turn, too: so a tile that one has loaded since
//! the last barrier is there for the others. The host remembers what is in it (see [`Services::load_once`]).
//!
//! That is right where nothing writes the memory meanwhile. Without a barrier between, no subgroup may write what another
//! one reads (Vulkan memory model, *data races*), unless atomic operations put the two in order, so functions with such
//! operations are left alone; those with volatile accesses, too, with which older shaders do the same. What a subgroup writes itself must not come between the barrier and the load.
//!
//! Factors that matrix registers of x86 multiply in parts are split when they are loaded, once for all as well.
//!
//! [`Services::load_once`]: crate::abi::Services::load_once

use super::MatValue;
use super::schedule::{Group, Schedule};
use super::uses::nested;
use crate::abi::{LoadOnce, offset};
use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::{Lower, waits};
use crate::prologue::Field;
use crate::value::Lowered;
use bytemuck::bytes_of;
use phalanx_ir::{Block, Function, ImageOp, Inst, MatType, Op, Space, Type, Value};
use phalanx_kernels::{Access, KernelId, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// Most tiles that are kept of one load.
const MOST: u32 = 4;
/// Bytes of kept tiles that are still worth it: two of each of eight tiles of 64×32 words, or of four of 64×64.
const LARGE: u64 = 144 << 10;

/// What may be loaded once.
#[derive(Debug, Default)]
pub(crate) struct Once {
    values: BTreeSet<Value>,
    /// Tiles that are kept of each.
    pub(crate) ways: u32,
    /// Bytes of tiles with their parts, of factors that are split.
    parts: BTreeMap<Value, u64>,
}

impl Once {
    /// Finds what `subgroups` subgroups of a work-group may load once for all.
    pub(crate) fn of(func: &Function, subgroups: u32, tile_bytes: impl Fn(Type) -> u64) -> Self {
        if subgroups < 2 || func.insts.iter().any(|i| may_order(&i.op)) {
            return Self::default();
        }
        let mut search = Search { func, writing: BTreeSet::new(), found: BTreeSet::new() };
        search.find_writing(Function::ENTRY);
        search.visit(Function::ENTRY, false);
        let bytes = search.bytes(Function::ENTRY, &tile_bytes);
        let ways = LARGE.checked_div(bytes).unwrap_or(0).min(u64::from(MOST.min(subgroups))) as u32;
        if ways == 0 {
            return Self::default();
        }
        Self { values: search.found, ways, parts: BTreeMap::new() }
    }

    /// Whether a value is.
    pub(crate) fn contains(&self, v: Value) -> bool {
        self.values.contains(&v)
    }

    /// Finds what is to be split, where all factors of one side of a group can be.
    pub(crate) fn split(
        &mut self,
        func: &Function,
        schedule: &Schedule,
        plan: impl Fn(&Group) -> Plan,
        bytes_with_parts: impl Fn(MatType) -> Option<usize>,
    ) {
        let is_split = |group: &&Group| {
            matches!(plan(group).kernel, KernelId::MUL_ADD_AMX_SPLIT | KernelId::MUL_ADD_AMX_SPLIT_HALF)
        };
        for group in schedule.groups().filter(is_split) {
            for factors in [&group.a, &group.b] {
                let bytes = func.ty(factors[0]).mat().and_then(&bytes_with_parts);
                if let Some(bytes) = bytes.filter(|_| factors.iter().all(|v| self.values.contains(v))) {
                    self.parts.extend(factors.iter().map(|&v| (v, bytes as u64)));
                }
            }
        }
    }

    /// Bytes of the tile of a factor that is split.
    pub(crate) fn bytes_with_parts(&self, v: Value) -> Option<u64> {
        self.parts.get(&v).copied()
    }
}

struct Search<'a> {
    func: &'a Function,
    /// Blocks that may write shared memory.
    writing: BTreeSet<Block>,
    /// What is loaded behind a barrier and before anything is written.
    found: BTreeSet<Value>,
}

/// Nesting is bounded by the verifier, so recursion is.
impl Search<'_> {
    fn find_writing(&mut self, block: Block) -> bool {
        let func = self.func;
        let mut writes = false;
        for &inst in func.block(block) {
            for nested in nested(&func.inst(inst).op) {
                writes |= self.find_writing(nested);
            }
            writes |= writes_shared(func, inst);
        }
        if writes {
            self.writing.insert(block);
        }
        writes
    }

    /// Bytes of a tile of each that was found in a block; of branches only one is taken.
    fn bytes(&self, block: Block, tile_bytes: &impl Fn(Type) -> u64) -> u64 {
        let func = self.func;
        let bytes = func.block(block).iter().map(|&inst| {
            let info = func.inst(inst);
            let found = info.results.iter().filter(|v| self.found.contains(v));
            let nested = nested(&info.op).map(|block| self.bytes(block, tile_bytes));
            let nested = match info.op {
                Op::If { .. } => nested.max().unwrap_or(0),
                _ => nested.sum(),
            };
            nested + found.map(|&v| tile_bytes(func.ty(v))).sum::<u64>()
        });
        bytes.sum()
    }

    /// Goes through a block that begins with shared memory as the last barrier left it if `clean`, and says whether
    /// that is so at its end.
    fn visit(&mut self, block: Block, mut clean: bool) -> bool {
        let func = self.func;
        for &inst in func.block(block) {
            let info = func.inst(inst);
            clean = match &info.op {
                op if waits(op) => true,
                Op::If { then, otherwise } => {
                    let (then, otherwise) = (self.visit(*then, clean), self.visit(*otherwise, clean));
                    then && otherwise
                }
                // One may be left from anywhere, and come back to its start from there.
                Op::Block { body, .. } => {
                    self.visit(*body, clean);
                    clean && !self.writing.contains(body)
                }
                Op::Loop { body, .. } => {
                    let stays = clean && !self.writing.contains(body);
                    self.visit(*body, stays);
                    stays
                }
                Op::MatLoad { .. } => {
                    if clean && is_shared(func, info.args[0]) {
                        self.found.insert(info.results[0]);
                    }
                    clean
                }
                _ => clean && !writes_shared(func, inst),
            };
        }
        clean
    }
}

/// Whether subgroups may put in order by an operation what they access without a barrier between.
fn may_order(op: &Op) -> bool {
    match op {
        Op::Atomic(_) | Op::Image(_, ImageOp::Atomic(_)) => true,
        Op::Load(flags) | Op::Store(flags) => flags.volatile,
        Op::MatLoad { flags, .. } | Op::MatStore { flags, .. } => flags.volatile,
        _ => false,
    }
}

fn is_shared(func: &Function, v: Value) -> bool {
    func.ty(v) == Type::Ptr(Space::Shared)
}

/// Whether an operation that is no construct may write shared memory.
fn writes_shared(func: &Function, inst: Inst) -> bool {
    let info = func.inst(inst);
    match info.op {
        Op::Load(_)
        | Op::MatLoad { .. }
        | Op::MatLoadTensor { decode: None, .. }
        | Op::PtrAdd { .. }
        | Op::PtrBytesLeft
        | Op::PtrDiff
        | Op::Select
        | Op::Compare(_) => false,
        // Who knows what is done for each element.
        Op::MatMap { .. } | Op::MatReduce { .. } | Op::MatLoadTensor { .. } => true,
        _ => info.args.iter().any(|&v| is_shared(func, v)),
    }
}

impl<'c> Lower<'_, 'c> {
    /// Loads a matrix if no subgroup has loaded it since the last barrier.
    pub(super) fn load_once(&mut self, v: Value, number: u32, access: Access, call: &[V<'c>]) -> Result<()> {
        let MatValue { tile, ty } = *self.mat(v)?;
        let notes = self.common_ptr(self.mats.notes(number))?;
        let with_parts = self.mats.once.bytes_with_parts(v);
        let kernel = if with_parts.is_some() { KernelId::LOAD_PARTS } else { KernelId::LOAD };
        let tile_bytes = with_parts.unwrap_or(self.layout_of(ty).bytes() as u64) as u32;
        let load = LoadOnce { access, kernel: kernel.index() as u32, ways: self.mats.once.ways, tile_bytes };
        let load = self.static_params(bytes_of(&load));
        self.note_site()?;
        let mut args = vec![self.prologue.context.into(), load.into(), tile.into(), notes.into()];
        args.extend_from_slice(call);
        let service = self.table_entry(Field::Services, offset::SERVICES_LOAD_ONCE as u64)?;
        let tile = self.e.call(service, &args, Some(self.e.ptr_ty().into()))?;
        let tile = tile.ok_or_else(|| Error::bug("a load without its result"))?.into_pointer_value();
        self.define(v, Lowered::Mat(MatValue { tile, ty }));
        Ok(())
    }
}
