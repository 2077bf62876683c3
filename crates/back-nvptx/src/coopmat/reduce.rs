//! Reductions of rows, in the order of the tree that docs/ir.md states: of a list, element `i` and element `half + i`.
//!
//! A row is in the four lanes of a group: far apart elements are in registers of one lane, nearer ones in two lanes, and
//! the nearest in one again. Two lanes that exchange elements both combine them, in the same order, so that both have the
//! same bits. Where the order does not matter, what a lane has is combined first.

use super::alike;
use super::layout::Kind;
use crate::lower::Lower;
use inkwell::IntPredicate;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Block, Inst};

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

    fn halve(&mut self, body: Block, list: &[V<'c>]) -> Result<Vec<V<'c>>> {
        let (low, high) = list.split_at(list.len() / 2);
        low.iter().zip(high).map(|(&x, &y)| self.region(body, &[x, y])).collect()
    }

    /// Combines what two lanes have whose numbers differ in a bit; the one with the lower number has the earlier element.
    fn combine_lanes(
        &mut self,
        body: Block,
        elem: phalanx_ir::Scalar,
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
