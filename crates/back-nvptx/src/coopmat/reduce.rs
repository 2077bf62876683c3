//! Reductions of rows, in the order of the tree that docs/ir.md states: of a list, element `i` and element `half + i`.
//!
//! A row is in the four lanes of a group: far apart elements are in registers of one lane, nearer ones in two lanes, and
//! the nearest in one again. Two lanes that exchange elements both combine them, in the same order, so that both have the
//! same bits. Where the order does not matter, what a lane has is combined first.
//!
//! Of a whole matrix only what does not depend on the order is reduced here: in each lane, in a warp, and, where several
//! warps share the matrix, through a word of shared memory for each of them.

use super::alike;
use super::layout::{Kind, Share};
use crate::lower::Lower;
use inkwell::IntPredicate;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Barrier, Block, Inst, MatReduceKind, Module, Op, Scalar, Scope};

/// Bytes of what a warp tells the others.
pub(super) const WORD: u32 = 8;

/// Bytes of shared memory, behind all else that a module has of it, that reductions of whole matrices of the work-group take;
/// nothing if there are none that are shared.
pub(super) fn exchanged_bytes(ir: &Module) -> Option<u32> {
    let f = &ir.body;
    let is_shared = f.insts.iter().any(|info| {
        let is_of_group = || f.ty(info.args[0]).mat().is_some_and(|m| m.scope == Scope::Workgroup);
        matches!(info.op, Op::MatReduce { kind: MatReduceKind::All, .. }) && is_of_group()
    });
    (is_shared && ir.num_subgroups() > 1).then_some(WORD * ir.num_subgroups())
}

impl<'c> Lower<'_, 'c> {
    pub(super) fn mat_reduce(&mut self, inst: Inst, body: Block) -> Result<()> {
        let info = self.f.inst(inst);
        let m = self.mat(info.args[0])?;
        let to = self.share_of(self.mat_ty(info.results[0])?).layout;
        let (Kind::Fragments { by_cols: false, width }, true) =
            (m.layout.kind, m.layout.cols.is_power_of_two())
        else {
            return Err(Error::bug("no reduction in registers"));
        };
        let elements = self.elements(&m)?;
        let in_block = (m.layout.steps() * width) as usize;
        let is_idempotent = alike::is_idempotent(self.f, body);
        let is_same = self.matrices.alike[info.args[0].index()] && is_idempotent;
        let is_partial = self.matrices.partials.iter().any(|partial| partial.reduce == inst);
        let mut results = Vec::new();
        for block in elements.chunks(in_block) {
            let mut list = if is_same { vec![block[0]] } else { block.to_vec() };
            // The order does not matter to the largest or the least element: what is in the lane comes first. What a lane adds up by
            // itself is in no other.
            let in_lane = if is_idempotent || is_partial { 1 } else { width as usize };
            while list.len() > in_lane {
                list = self.halve(body, &list)?;
            }
            for distance in if is_same || is_partial { &[][..] } else { &[2, 1][..] } {
                for x in &mut list {
                    *x = self.combine_lanes(body, m.elem, *x, *distance, is_idempotent)?;
                }
            }
            while list.len() > 1 {
                list = self.halve(body, &list)?;
            }
            let count = to.registers() / to.line_blocks();
            results.extend(std::iter::repeat_n(list[0], count as usize));
        }
        let result = self.pack_elements(to, m.elem, &results)?;
        self.set_mat(inst, result)
    }

    /// A reduction of all elements by what depends on no order.
    pub(super) fn mat_reduce_all(&mut self, inst: Inst, body: Block) -> Result<()> {
        let info = self.f.inst(inst);
        let from = self.mat_ty(info.args[0])?;
        let to = self.share_of(self.mat_ty(info.results[0])?).layout;
        let m = self.mat(info.args[0])?;
        let elements = self.elements(&m)?;
        let (&first, others) =
            elements.split_first().ok_or_else(|| Error::bug("a matrix without elements"))?;
        let mut x = first;
        for &y in others {
            x = self.region(body, &[x, y])?;
        }
        for distance in [16, 8, 4, 2, 1] {
            x = self.combine_lanes(body, m.elem, x, distance, true)?;
        }
        let Share { layout, warps } = self.share_of(from);
        if warps != (1, 1) {
            // Those behind the last row have none.
            let columns = self.matrices.grid.columns;
            let holders = columns * (from.rows / layout.rows).min(warps.0);
            x = self.combine_warps(body, m.elem, x, holders)?;
        }
        let result = self.pack_elements(to, m.elem, &vec![x; to.registers() as usize])?;
        self.set_mat(inst, result)
    }

    /// Combines what the first warps of the work-group have, alike in all of their lanes.
    fn combine_warps(&mut self, body: Block, elem: Scalar, x: V<'c>, holders: u32) -> Result<V<'c>> {
        let warps = self.ir.num_subgroups();
        let start = self.ir.shared_bytes - WORD * warps;
        let thread = self.thread()?;
        let warp = self.e.lshr(thread, self.e.i32(5))?;
        let own = self.e.add(self.e.mul(warp, self.e.i32(WORD))?, self.e.i32(start))?;
        let all = Barrier { execution: Scope::Workgroup, memory: Scope::Workgroup };
        let at = |l: &mut Self, offset: V<'c>| {
            let byte = l.e.cx.i8_type().into();
            l.e.element_ptr(byte, l.shared.into(), offset).map(|at| at.into_pointer_value())
        };
        let to = at(self, own)?;
        self.e.b.build_store(to, x)?;
        self.lower_barrier(all)?;
        let mut result = None;
        for warp in 0..holders {
            let from = at(self, self.e.i32(start + WORD * warp))?;
            let y = self.e.b.build_load(self.e.scalar_ty(elem), from, "")?;
            result = Some(result.map_or(Ok(y), |x| self.region(body, &[x, y]))?);
        }
        // Before anyone writes the next one.
        self.lower_barrier(all)?;
        Ok(result.unwrap_or(x))
    }

    fn halve(&mut self, body: Block, list: &[V<'c>]) -> Result<Vec<V<'c>>> {
        let (low, high) = list.split_at(list.len() / 2);
        low.iter().zip(high).map(|(&x, &y)| self.region(body, &[x, y])).collect()
    }

    /// Combines what two lanes have whose numbers differ in a bit; the one with the lower number has the earlier element.
    fn combine_lanes(
        &mut self,
        body: Block,
        elem: Scalar,
        x: V<'c>,
        bit: u32,
        in_any_order: bool,
    ) -> Result<V<'c>> {
        let (lane, all) = (self.lane()?, self.e.i32(u32::MAX));
        let other = self.e.xor(lane, self.e.i32(bit))?;
        let y = self.value_of_lane(all, elem, x, other)?;
        if in_any_order {
            return self.region(body, &[x, y]);
        }
        let own = self.e.and(lane, self.e.i32(bit))?;
        let is_first = self.e.icmp(IntPredicate::EQ, own, self.e.i32(0))?;
        let (first, second) = (self.e.select(is_first, x, y)?, self.e.select(is_first, y, x)?);
        self.region(body, &[first, second])
    }
}
