//! The ring of blocks, and what each instruction is for either side.
//!
//! Block `i` has two words that count arrivals (`mbarrier`): that it is full, of the copies of each producer and of one
//! thread of each of their warps, and that it is empty, of one of each subgroup. Both sides go round in the same order, so
//! each knows from its own number of rounds which phase of a word it waits for.

use super::fuse::Fused;
use super::plan::{Plan, plan};
use crate::coopmat::fragment::Memory;
use crate::lower::{Flow, Lower, Ptr};
use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode as I, PointerValue};
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Inst, Var};
use std::rc::Rc;

/// The words of a block.
const FULL: u32 = 0;
const EMPTY: u32 = 1;

/// The ring, and where a thread is in it.
#[derive(Clone, Debug)]
pub(crate) struct Ring<'c> {
    plan: Rc<Plan>,
    is_producer: bool,
    /// Whether shared memory is that of a block.
    is_inside: bool,
    /// The block, and the phase of its words, in this thread.
    slot: PointerValue<'c>,
    phase: PointerValue<'c>,
    /// The block that is read, or filled, in bytes from the start, and whether one is read.
    start: PointerValue<'c>,
    holds: PointerValue<'c>,
    /// The block whose multiplication may be under way.
    behind: PointerValue<'c>,
}

/// A copy: what loads it, from where, and where in the block it goes.
struct Copy<'c> {
    load: Inst,
    from: Ptr<'c>,
    place: V<'c>,
}

impl<'c> Lower<'_, 'c> {
    /// Looks whether blocks of shared memory can be filled by threads of their own.
    pub(crate) fn find_staged(&mut self) -> Option<Plan> {
        if self.homes.is_moved() {
            return None;
        }
        let found = plan(self.ir, self.arch, |pointer| self.align_of(pointer))?;
        self.layout.shared_bytes = found.shared_bytes();
        if let Some(shared) = self.e.module.get_global("phalanx_shared") {
            shared.set_alignment(1024);
        }
        self.layout.threads += self.ir.workgroup_invocations();
        Some(found)
    }

    /// Makes the ring, which all threads do together.
    pub(crate) fn start_blocks(&mut self, plan: Plan) -> Result<()> {
        let i32_ty = self.e.cx.i32_type();
        let cell = || self.reserve(i32_ty);
        let [slot, phase, start, holds, behind] = [cell()?, cell()?, cell()?, cell()?, cell()?];
        for cell in [slot, phase, holds, behind] {
            self.e.b.build_store(cell, self.e.i32(0))?;
        }
        self.e.b.build_store(start, self.e.i32(plan.slots_start()))?;
        let (slots, warps) = (plan.slots, self.ir.num_subgroups());
        let plan = Rc::new(plan);
        self.blocks =
            Some(Ring { plan, is_producer: false, is_inside: true, slot, phase, start, holds, behind });
        let thread = self.thread()?;
        let is_first = self.e.icmp(IntPredicate::EQ, thread, self.e.i32(0))?;
        let init = |l: &mut Self| {
            for slot in 0..slots {
                for (word, count) in [(FULL, 33 * warps), (EMPTY, warps)] {
                    let slot = l.e.i32(slot);
                    let at = l.block_word(slot, word)?;
                    let count = l.e.i32(count);
                    l.act("mbarrier.init.shared.b64 [$0], $1;", &[at, count])?;
                }
            }
            l.act("fence.proxy.async.shared::cta;", &[])?;
            Ok(Vec::new())
        };
        self.either(is_first, init, |_| Ok(Vec::new()))?;
        self.act("barrier.sync 0;", &[])
    }

    /// Takes the part of producers, or of invocations.
    pub(crate) fn set_produces(&mut self, produces: bool) -> Result<()> {
        let Some(ring) = &mut self.blocks else { return Ok(()) };
        (ring.is_producer, ring.is_inside) = (produces, true);
        let Some([producer, invocation]) = ring.plan.registers(self.ir) else { return Ok(()) };
        let text = match produces {
            true => format!("setmaxnreg.dec.sync.aligned.u32 {producer};"),
            false => format!("setmaxnreg.inc.sync.aligned.u32 {invocation};"),
        };
        self.act(&text, &[])
    }

    /// Whether the threads that are lowered for are doubles of invocations.
    pub(crate) fn is_double(&self) -> bool {
        self.blocks.as_ref().is_some_and(|ring| ring.is_producer)
    }

    /// Whether multiplications go on by themselves.
    pub(crate) fn has_wgmma(&self) -> bool {
        self.ring.is_some() || self.blocks.as_ref().is_some_and(|ring| ring.plan.fused.is_some())
    }

    /// Takes shared memory as it is for a while; whether it was that of a block.
    pub(crate) fn leave_blocks(&mut self) -> bool {
        self.blocks.as_mut().is_some_and(|ring| std::mem::replace(&mut ring.is_inside, false))
    }

    /// The end of that.
    pub(crate) fn enter_blocks(&mut self, were: bool) {
        if let Some(ring) = &mut self.blocks {
            ring.is_inside = were;
        }
    }

    fn blocks(&self) -> Result<&Ring<'c>> {
        self.blocks.as_ref().ok_or_else(|| Error::bug("there is no ring"))
    }

    pub(super) fn act(&mut self, text: &str, args: &[V<'c>]) -> Result<()> {
        self.assembly(text, &[], args, Memory::Write).map(|_nothing| ())
    }

    fn cell(&mut self, at: PointerValue<'c>) -> Result<V<'c>> {
        Ok(self.e.b.build_load(self.e.cx.i32_type(), at, "")?)
    }

    /// The address in shared memory of a block's word.
    fn block_word(&mut self, slot: V<'c>, word: u32) -> Result<V<'c>> {
        let words = self.blocks()?.plan.words + 8 * word;
        let start = self.e.cast(I::PtrToInt, self.shared.into(), self.e.cx.i32_type())?;
        let start = self.e.add(start, self.e.i32(words))?;
        let further = self.e.shl(slot, self.e.i32(4))?;
        self.e.add(start, further)
    }

    /// A place in shared memory, in the block that this thread is at.
    pub(crate) fn in_block(&mut self, at: V<'c>) -> Result<V<'c>> {
        let Some(Ring { is_inside: true, start, .. }) = self.blocks else { return Ok(at) };
        let start = self.cell(start)?;
        self.e.offset(at, self.e.zext_trunc(start, 64)?)
    }

    /// Waits until a word of the block has left a phase; ends the thread if the dispatch shall end.
    fn wait_for_block(&mut self, word: u32) -> Result<()> {
        let (slot, phase) = (self.blocks()?.slot, self.blocks()?.phase);
        let (slot, phase) = (self.cell(slot)?, self.cell(phase)?);
        // A word that is empty from the start has left the phase before its first.
        let phase = if word == EMPTY { self.e.xor(phase, self.e.i32(1))? } else { phase };
        let at = self.block_word(slot, word)?;
        // `ptxas` waits for each multiplication where a thread may leave: then producers look, without whom nobody goes on.
        let looks = self.blocks()?.is_producer || self.blocks()?.plan.fused.is_none();
        self.wait_at(at, phase, looks)
    }

    /// One thread of each warp arrives at a word of the block, for all of the warp.
    fn arrive_for_warp(&mut self, slot: V<'c>, word: u32) -> Result<()> {
        let all = self.e.i32(u32::MAX);
        self.e.intrinsic_effect("llvm.nvvm.bar.warp.sync", &[], &[all])?;
        let at = self.block_word(slot, word)?;
        let lane = self.lane()?;
        let text = "{ .reg .pred p; setp.eq.u32 p, $1, 0; @p mbarrier.arrive.shared.b64 _, [$0]; }";
        self.act(text, &[at, lane])
    }

    /// Goes on to the next block.
    fn go_on(&mut self) -> Result<()> {
        let Ring { slot, phase, start, .. } = *self.blocks()?;
        let (slots, bytes, first) =
            (self.blocks()?.plan.slots, self.blocks()?.plan.slot_bytes, self.blocks()?.plan.slots_start());
        let (number, old) = (self.cell(slot)?, self.cell(phase)?);
        let next = self.e.add(number, self.e.i32(1))?;
        let wraps = self.e.icmp(IntPredicate::EQ, next, self.e.i32(slots))?;
        let next = self.e.select(wraps, self.e.i32(0), next)?;
        let turned = self.e.xor(old, self.e.i32(1))?;
        let new = self.e.select(wraps, turned, old)?;
        let further = self.e.mul(next, self.e.i32(bytes))?;
        let at = self.e.add(further, self.e.i32(first))?;
        self.e.b.build_store(slot, next)?;
        self.e.b.build_store(phase, new)?;
        self.e.b.build_store(start, at)?;
        Ok(())
    }

    /// Invocations: gives the block back that is read, if one is.
    fn give_back(&mut self) -> Result<()> {
        let holds = self.blocks()?.holds;
        let some = self.cell(holds)?;
        let some = self.e.icmp(IntPredicate::NE, some, self.e.i32(0))?;
        let give = |l: &mut Self| {
            let slot = l.blocks()?.slot;
            let slot = l.cell(slot)?;
            l.arrive_for_warp(slot, EMPTY)?;
            l.go_on()?;
            Ok(Vec::new())
        };
        self.either(some, give, |_| Ok(Vec::new()))?;
        self.e.b.build_store(holds, self.e.i32(0))?;
        Ok(())
    }

    /// Invocations: begins to multiply the next block, and gives back the one before.
    fn multiply_next(&mut self, fused: &Fused) -> Result<()> {
        self.wait_for_block(FULL)?;
        self.act("fence.proxy.async.shared::cta;", &[])?;
        self.multiply_block(fused)?;
        let Ring { slot, holds, behind, .. } = *self.blocks()?;
        self.release_behind()?;
        let now = self.cell(slot)?;
        self.e.b.build_store(behind, now)?;
        self.e.b.build_store(holds, self.e.i32(1))?;
        self.go_on()
    }

    /// Gives back the block whose multiplication has ended, if there is one.
    fn release_behind(&mut self) -> Result<()> {
        let Ring { holds, behind, .. } = *self.blocks()?;
        let some = self.cell(holds)?;
        let some = self.e.icmp(IntPredicate::NE, some, self.e.i32(0))?;
        let behind = self.cell(behind)?;
        let give = |l: &mut Self| l.arrive_for_warp(behind, EMPTY).map(|()| Vec::new());
        self.either(some, give, |_| Ok(Vec::new())).map(|_nothing| ())
    }

    /// The variable that the rounds of a loop add to without waiting for each other.
    pub(crate) fn fused_sums(&self, inst: Inst) -> Option<Var> {
        let ring = self.blocks.as_ref().filter(|ring| !ring.is_producer && ring.plan.around == inst)?;
        ring.plan.fused.as_ref().map(|fused| fused.var)
    }

    /// Behind the loop: waits for the sums that it may still be adding to.
    pub(crate) fn settle_blocks(&mut self) -> Result<()> {
        let Some(fused) = self.blocks()?.plan.fused.clone() else { return Ok(()) };
        // In a branch, `ptxas` would wait for each multiplication.
        self.wait_for_cells(&fused)?;
        let holds = self.blocks()?.holds;
        self.release_behind()?;
        self.e.b.build_store(holds, self.e.i32(0))?;
        Ok(())
    }

    /// The number of the subgroup that a warp is, where four that share columns must be one group.
    pub(crate) fn renumbered(&mut self, thread: V<'c>) -> Result<V<'c>> {
        let grid = match &self.blocks {
            Some(Ring { is_producer: false, plan, .. }) => {
                plan.fused.as_ref().filter(|fused| fused.renumbers)
            }
            _ => None,
        };
        let Some([rows, cols]) = grid.map(|fused| fused.grid) else { return Ok(thread) };
        let warp = self.e.lshr(thread, self.e.i32(5))?;
        let lane = self.e.and(thread, self.e.i32(31))?;
        let row = self.e.bin(I::URem, warp, self.e.i32(rows))?;
        let col = self.e.bin(I::UDiv, warp, self.e.i32(rows))?;
        let first = self.e.mul(row, self.e.i32(cols))?;
        let subgroup = self.e.add(first, col)?;
        let first = self.e.shl(subgroup, self.e.i32(5))?;
        self.e.or(first, lane)
    }

    /// The address of the block that this thread is at.
    pub(super) fn block_address(&mut self) -> Result<V<'c>> {
        let start = self.blocks()?.start;
        let start = self.cell(start)?;
        let shared = self.e.cast(I::PtrToInt, self.shared.into(), self.e.cx.i32_type())?;
        self.e.add(shared, start)
    }

    /// What this thread does about an instruction where blocks are filled by producers; nothing if it is to be lowered as
    /// ever.
    pub(crate) fn lower_staged(&mut self, inst: Inst) -> Result<Option<Flow>> {
        let Some(ring) = &self.blocks else { return Ok(None) };
        let plan = ring.plan.clone();
        if ring.is_producer {
            if inst == plan.start {
                self.wait_for_block(EMPTY)?;
            }
            if inst == plan.full {
                let slot = self.blocks()?.slot;
                let slot = self.cell(slot)?;
                let at = self.block_word(slot, FULL)?;
                self.act("cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", &[at])?;
                self.arrive_for_warp(slot, FULL)?;
                self.go_on()?;
                return Ok(Some(Flow::Next));
            }
            if let Some(&load) = plan.copies.get(&inst) {
                self.copy_piece_of(&plan, inst, load)?;
                return Ok(Some(Flow::Next));
            }
            return Ok((!plan.is_produced[inst.index()]).then_some(Flow::Next));
        }
        if let Some(fused) = &plan.fused {
            if inst == plan.full {
                self.multiply_next(fused)?;
                return Ok(Some(Flow::Next));
            }
            return Ok((inst == plan.free || !plan.is_consumed[inst.index()]).then_some(Flow::Next));
        }
        if inst == plan.free {
            self.give_back()?;
            return Ok(Some(Flow::Next));
        }
        if inst == plan.full {
            self.give_back()?;
            self.wait_for_block(FULL)?;
            let holds = self.blocks()?.holds;
            self.e.b.build_store(holds, self.e.i32(1))?;
            let all = self.e.i32(u32::MAX);
            self.e.intrinsic_effect("llvm.nvvm.bar.warp.sync", &[], &[all])?;
            return Ok(Some(Flow::Next));
        }
        Ok((!plan.is_consumed[inst.index()]).then_some(Flow::Next))
    }

    /// Behind the outermost loop: what follows is done when all have done with it.
    pub(crate) fn end_blocks(&mut self, inst: Inst) -> Result<()> {
        let Some(ring) = &mut self.blocks else { return Ok(()) };
        if inst != ring.plan.around {
            return Ok(());
        }
        ring.is_inside = false;
        if ring.is_producer {
            return Ok(());
        }
        self.lower_barrier(super::plan::WORKGROUP)
    }

    /// Producers: the copies of a round one after the other, if some instructions begin with them; how many instructions
    /// that are.
    pub(crate) fn copy_row(&mut self, insts: &[Inst]) -> Result<usize> {
        let Some(ring) = self.blocks.as_ref().filter(|ring| ring.is_producer) else { return Ok(0) };
        let plan = ring.plan.clone();
        let Some(row) = plan.row.as_ref().filter(|row| insts.first() == Some(&row.first)) else {
            return Ok(0);
        };
        self.wait_for_block(EMPTY)?;
        let mut copies: Vec<Copy<'c>> = Vec::new();
        for &inst in &row.executed {
            match plan.copies.get(&inst) {
                Some(&load) => {
                    let &(of, far) =
                        row.near.get(copies.len()).ok_or_else(|| Error::bug("a copy too many"))?;
                    let place = match copies.get(of) {
                        Some(copy) => self.e.add(copy.place, self.e.i32(far))?,
                        None => self.place_in_block(&plan, inst)?,
                    };
                    let from = self.ptr(self.f.inst(load).args[0])?;
                    copies.push(Copy { load, from, place });
                }
                None if plan.is_produced[inst.index()] => {
                    self.inst(inst)?;
                }
                None => {}
            }
        }
        let mut all: Option<V<'c>> = None;
        for copy in &copies {
            let bytes = self.bytes_of(&self.f.inst(copy.load).results)?;
            if let Some(inside) = self.inside(&copy.from, bytes)? {
                all = Some(match all {
                    Some(all) => self.e.and(all, inside)?,
                    None => inside,
                });
            }
        }
        let all = all.ok_or_else(|| Error::bug("a buffer without bounds"))?;
        let begin = |l: &mut Self, is_inside: bool| {
            for copy in &copies {
                l.begin_copy(copy, is_inside)?;
            }
            Ok(Vec::new())
        };
        self.either(all, |l| begin(l, true), |l| begin(l, false))?;
        Ok(row.count)
    }

    /// Where in the block a store puts what it stores, in bytes from its start.
    fn place_in_block(&mut self, plan: &Plan, store: Inst) -> Result<V<'c>> {
        if let Some(fused) = &plan.fused {
            return self.place_in_part(fused, store);
        }
        let p = self.ptr(self.f.inst(store).args[0])?;
        let i32_ty = self.e.cx.i32_type();
        let start = self.e.cast(I::PtrToInt, self.shared.into(), i32_ty)?;
        let object = self.e.cast(I::PtrToInt, p.base, i32_ty)?;
        let from_start = self.e.sub(object, start)?;
        self.e.add(from_start, self.e.zext_trunc(p.offset, 32)?)
    }

    /// Begins to copy what a load gives to where a store puts it.
    fn copy_piece_of(&mut self, plan: &Plan, store: Inst, load: Inst) -> Result<()> {
        let (from, place) = (self.ptr(self.f.inst(load).args[0])?, self.place_in_block(plan, store)?);
        self.begin_copy(&Copy { load, from, place }, false)
    }

    /// Begins to copy; what is outside becomes zero.
    fn begin_copy(&mut self, copy: &Copy<'c>, is_inside: bool) -> Result<()> {
        let Copy { load, from, place } = copy;
        let values = &self.f.inst(*load).results;
        let (bytes, each) = (self.bytes_of(values)?, self.scalar_ty(values[0])?.bytes());
        let block = self.block_address()?;
        let to = self.e.add(block, *place)?;
        let cache = if bytes == 16 { "cg" } else { "ca" };
        let text = format!("cp.async.{cache}.shared.global.L2::128B [$0], [$1], {bytes}");
        if is_inside {
            let from = self.address(from)?;
            return self.act(&format!("{text};"), &[to, from]);
        }
        // Of a piece that ends outside, the scalars that are inside.
        let begins = self.e.icmp(IntPredicate::ULT, from.offset, from.size)?;
        let left = self.e.sub(from.size, from.offset)?;
        let left = self.e.select(begins, left, self.e.i64(0))?;
        let count = self.e.map2("llvm.umin", left, self.e.i64(bytes as i64))?;
        let count = self.e.zext_trunc(count, 32)?;
        let count = self.e.and(count, self.e.i32(!(each - 1)))?;
        let from = self.address(from)?;
        self.act(&format!("{text}, $2;"), &[to, from, count])
    }
}
