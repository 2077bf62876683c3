//! Blocks of shared memory that are filled ahead.
//!
//! Programs for GPUs go through matrices in blocks: in each round of a loop a work-group puts a block into shared memory,
//! having fetched it into registers the round before, and multiplies:
//!
//! ```text
//! fetch                                        fetch, stage in half 0
//! loop {                                       loop {
//!   barrier   all have read the last block       wait for the copies, turn to their half
//!   stage     from registers                     barrier
//!   barrier                                      if more { copy to the other half }
//!   if more { fetch }                            multiply from this half
//!   multiply                                   }
//! }
//! ```
//!
//! The right side does the same with twice the memory: asynchronous copies (`cp.async`) of what would have been fetched go
//! to the other half, with no registers between and one barrier less. [`find`] looks whether that is so: each round writes
//! all that it reads ([`cover`]), in the same places, and nobody writes what is copied. If there is nothing more to fetch,
//! registers keep what they had, and so does the half.

mod cover;
mod find;
mod run;

use crate::lower::{Flow, Lower};
use find::PIECE;
use inkwell::values::{InstructionOpcode as I, PointerValue};
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Inst, MemFlags};
use run::Run;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A loop, and what becomes of its instructions.
#[derive(Debug)]
pub(crate) struct Ahead {
    looped: Inst,
    /// The barrier behind which a block is there.
    second: Inst,
    /// Bytes of one half of shared memory.
    half: u32,
    /// What stages a block, which is done before the loop.
    stage: Vec<Inst>,
    /// The loads of the next block, and where each puts its piece.
    copies: HashMap<Inst, Inst>,
    /// What is not done where it stands.
    skipped: HashSet<Inst>,
}

/// Which half is read, and which from the next round on: bytes from the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Halves<'c> {
    now: PointerValue<'c>,
    next: PointerValue<'c>,
}

impl<'c> Lower<'_, 'c> {
    /// Looks whether blocks of shared memory can be filled ahead.
    pub(crate) fn find_ahead(&mut self) {
        let is_inside = |pointer| self.is_range_inside(pointer, PIECE.into());
        let found = Ahead::find(self.ir, self.arch, |pointer| self.align_of(pointer), is_inside);
        if let Some(ahead) = found {
            self.layout.shared_bytes = 2 * ahead.half;
            self.ahead = Some(Rc::new(ahead));
        }
    }

    /// Begins with the first half.
    pub(crate) fn start_halves(&mut self) -> Result<()> {
        if self.ahead.is_some() {
            let ty = self.e.cx.i32_type();
            let halves = Halves { now: self.reserve(ty)?, next: self.reserve(ty)? };
            self.e.b.build_store(halves.now, self.e.i32(0))?;
            self.e.b.build_store(halves.next, self.e.i32(0))?;
            self.halves = Some(halves);
        }
        Ok(())
    }

    /// A place in shared memory, in the half that is read.
    pub(crate) fn in_half(&mut self, at: V<'c>) -> Result<V<'c>> {
        let Some(halves) = self.halves else { return Ok(at) };
        let now = self.e.b.build_load(self.e.cx.i32_type(), halves.now, "half")?;
        self.e.offset(at, self.e.zext_trunc(now, 64)?)
    }

    /// Lowers the first of some instructions, and what belongs to it, if blocks are filled ahead and it has to do with that:
    /// how many instructions that are.
    pub(crate) fn fill_ahead(&mut self, insts: &[Inst]) -> Result<Option<(usize, Flow)>> {
        let (Some(ahead), Some(halves), Some(&inst)) = (self.ahead.clone(), self.halves, insts.first())
        else {
            return Ok(None);
        };
        if inst == ahead.looped {
            for &inst in &ahead.stage {
                self.inst(inst)?;
            }
            let flow = self.inst(inst)?;
            if flow == Flow::Next {
                self.wait_for_copies()?;
            }
            return Ok(Some((1, flow)));
        }
        if inst == ahead.second {
            self.wait_for_copies()?;
            let next = self.e.b.build_load(self.e.cx.i32_type(), halves.next, "next")?;
            self.e.b.build_store(halves.now, next)?;
            return Ok(Some((1, self.inst(inst)?)));
        }
        if ahead.copies.contains_key(&inst) {
            return self.copy_ahead(&ahead, halves, insts).map(|count| Some((count, Flow::Next)));
        }
        Ok(ahead.skipped.contains(&inst).then_some((1, Flow::Next)))
    }

    fn copy_ahead(&mut self, ahead: &Ahead, halves: Halves<'c>, insts: &[Inst]) -> Result<usize> {
        let f = self.f;
        let run = Run::find(f, insts, |inst| ahead.copies.contains_key(&inst));
        for &inst in run.early.iter().filter(|inst| !ahead.skipped.contains(inst)) {
            self.inst(inst)?;
        }
        let now = self.e.b.build_load(self.e.cx.i32_type(), halves.now, "half")?;
        let next = self.e.sub(self.e.i32(ahead.half), now)?;
        self.e.b.build_store(halves.next, next)?;
        let mut places = Vec::new();
        for load in &run.loads {
            let store = ahead.copies.get(load).ok_or_else(|| Error::bug("a copy to nowhere"))?;
            let p = self.ptr(f.inst(*store).args[0])?;
            let at = self.e.offset(p.base, p.offset)?;
            places.push(self.e.offset(at, self.e.zext_trunc(next, 64)?)?.into_pointer_value());
        }
        let all = self.are_inside(&run.loads)?.ok_or_else(|| Error::bug("a buffer without bounds"))?;
        let copy = |l: &mut Self| {
            for (&load, &to) in run.loads.iter().zip(&places) {
                let from = l.ptr(f.inst(load).args[0])?;
                let from = l.place(&from)?;
                l.copy_piece(from, to)?;
            }
            Ok(Vec::new())
        };
        let each = |l: &mut Self| {
            for (&load, &to) in run.loads.iter().zip(&places) {
                let values = l.load(load, MemFlags::default(), false)?;
                let s = l.scalar_ty(f.inst(load).results[0])?;
                l.write_aligned(to, s, &values, PIECE, MemFlags::default())?;
            }
            Ok(Vec::new())
        };
        self.either(all, copy, each)?;
        for &inst in run.late.iter().filter(|inst| !ahead.skipped.contains(inst)) {
            self.inst(inst)?;
        }
        Ok(run.count)
    }

    /// Whether all that some loads read is in its object; nothing where there are no bounds.
    fn are_inside(&mut self, loads: &[Inst]) -> Result<Option<V<'c>>> {
        let f = self.f;
        let mut all: Option<V<'c>> = None;
        for &inst in loads {
            let info = f.inst(inst);
            let (p, bytes) = (self.ptr(info.args[0])?, self.bytes_of(&info.results)?);
            if let Some(inside) = self.inside(&p, bytes)? {
                all = Some(match all {
                    Some(all) => self.e.and(all, inside)?,
                    None => inside,
                });
            }
        }
        Ok(all)
    }

    /// Begins to copy a piece of a buffer to shared memory.
    fn copy_piece(&mut self, from: PointerValue<'c>, to: PointerValue<'c>) -> Result<()> {
        let to = self.e.cast(I::PtrToInt, to.into(), self.e.cx.i32_type())?;
        let text = format!("cp.async.cg.shared.global [$0], [$1], {PIECE};");
        self.effect(&text, "r,l,~{memory}", &[to, from.into()])
    }

    fn wait_for_copies(&mut self) -> Result<()> {
        self.effect("cp.async.wait_all;", "~{memory}", &[])
    }

    /// An instruction of PTX for what it does to memory.
    fn effect(&mut self, text: &str, constraints: &str, args: &[V<'c>]) -> Result<()> {
        let params: Vec<_> = args.iter().map(|x| x.get_type().into()).collect();
        let ty = self.e.cx.void_type().fn_type(&params, false);
        let code = self.e.cx.create_inline_asm(
            ty,
            text.to_owned(),
            constraints.to_owned(),
            true,
            false,
            None,
            false,
        );
        let args: Vec<_> = args.iter().map(|&x| x.into()).collect();
        self.e.b.build_indirect_call(ty, code, &args, "")?;
        Ok(())
    }
}

impl Ahead {
    fn new(looped: Inst, second: Inst, half: u32, stage: Vec<Inst>) -> Self {
        let (copies, skipped) = (HashMap::new(), stage.iter().copied().collect());
        Self { looped, second, half, stage, copies, skipped }
    }
}
