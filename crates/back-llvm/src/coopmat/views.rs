//! Rotated matrices that are never made: they are parts of their operands.
//!
//! Where the tiles of two matrices lie one behind the other, and rows do so in the tiles, a rotation by whole rows is the
//! rows from one on:
//!
//! ```text
//! %a = mat_load …                 %a ┌──────────┐
//! %b = mat_load …                    │          │ %r ┌ ─ ─ ─ ─ ─
//! %r = mat_rotate %a, %b, %16     %b ├──────────┤
//!                                    │          │    └ ─ ─ ─ ─ ─
//!                                    └──────────┘
//! ```
//!
//! A [`Run`] is matrices that are to lie so. Each has at most one behind it and one before it, so where rotations want
//! more, the later ones are copies. All is within one block: a run lives from the first definition of its members to the
//! last use of a member or of a view.

use super::places::{Place, Places};
use super::uses::Uses;
use phalanx_ir::{Block, Function, Inst, MatType, Op, Type, Value};
use phalanx_kernels::TileLayout;
use std::collections::BTreeMap;

/// What a multiplication may take a tile to begin at.
const ALIGN: usize = 64;

/// Matrices whose tiles lie one behind the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// In their order in memory.
    pub(crate) members: Vec<Value>,
    /// The rotated matrices that are parts of them.
    pub(crate) views: Vec<Value>,
}

/// All runs and views of a function.
#[derive(Debug, Default)]
pub(crate) struct Views {
    /// Of a rotated matrix: the first operand, and bytes from its start.
    places: BTreeMap<Value, (Value, u64)>,
    runs: Vec<Run>,
    run_of: BTreeMap<Value, usize>,
}

impl Views {
    pub(crate) fn of(
        func: &Function,
        uses: &Uses,
        places: &Places,
        layout: impl Fn(MatType) -> TileLayout,
    ) -> Self {
        let mut this = Self::default();
        for block in (0..func.blocks.len()).map(Block::new) {
            for &inst in func.block(block) {
                this.decide(func, uses, places, inst, &layout);
            }
        }
        this
    }

    /// Where a rotated matrix is, if it is part of others.
    pub(crate) fn view(&self, v: Value) -> Option<(Value, u64)> {
        self.places.get(&v).copied()
    }

    /// The run that a matrix is a member of.
    pub(crate) fn run(&self, v: Value) -> Option<&Run> {
        self.run_of.get(&v).map(|&run| &self.runs[run])
    }

    fn decide(
        &mut self,
        func: &Function,
        uses: &Uses,
        places: &Places,
        inst: Inst,
        layout: &impl Fn(MatType) -> TileLayout,
    ) {
        let info = func.inst(inst);
        let (Op::MatRotate, &[first, second, offset], &[result]) =
            (&info.op, info.args.as_slice(), info.results.as_slice())
        else {
            return;
        };
        let (Type::Mat(ty), Some(offset)) = (func.ty(result), func.const_bits(offset)) else { return };
        let Some(bytes) = whole_rows(&layout(ty), offset as u32) else { return };
        let block = uses.def[result.index()].0;
        let is_free = |v: Value| {
            let is_slot = places.of_value(v) == Place::Slot(v);
            is_slot && uses.def[v.index()].0 == block && self.view(v).is_none()
        };
        if [first, second, result].into_iter().all(is_free) && self.join(first, second) {
            self.places.insert(result, (first, bytes));
            let run = self.run_of[&first];
            self.runs[run].views.push(result);
        }
    }

    /// Whether the second matrix lies behind the first one, which is made so if it can be.
    fn join(&mut self, first: Value, second: Value) -> bool {
        let (left, right) = (self.enter(first), self.enter(second));
        let members = &self.runs[left].members;
        let at = members.iter().position(|&member| member == first);
        if let Some(&behind) = at.and_then(|at| members.get(at + 1)) {
            return behind == second;
        }
        if left == right || self.runs[right].members.first() != Some(&second) {
            return false;
        }
        let Run { members, views } = std::mem::take(&mut self.runs[right]);
        for &member in &members {
            self.run_of.insert(member, left);
        }
        self.runs[left].members.extend(members);
        self.runs[left].views.extend(views);
        true
    }

    /// The run of a matrix, which may be one of its own.
    fn enter(&mut self, v: Value) -> usize {
        let next = self.runs.len();
        let run = *self.run_of.entry(v).or_insert(next);
        if run == next {
            self.runs.push(Run { members: vec![v], views: Vec::new() });
        }
        run
    }
}

/// Bytes to the row that a rotation begins with, if rows lie so that two tiles do as one.
fn whole_rows(layout: &TileLayout, offset: u32) -> Option<u64> {
    let (row, rest) = (offset / layout.cols, offset % layout.cols);
    let row_bytes = layout.ld as usize * layout.storage.bytes();
    let is_dense = layout.interleave == 1 && layout.bytes() == layout.rows as usize * row_bytes;
    let is_inside = rest == 0 && (1..layout.rows).contains(&row);
    (is_dense && is_inside && row_bytes.is_multiple_of(ALIGN)).then_some(u64::from(row) * row_bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_kernels::{Elem, Processor};

    #[test]
    fn whole_rows_are_parts_of_dense_tiles() {
        let set = Processor::native().kernels();
        let layout = |elem, use_, rows, cols| set.layout(elem, use_, rows, cols);
        let a = |rows, cols| layout(Elem::F16, phalanx_kernels::Use::A, rows, cols);
        assert_eq!(whole_rows(&a(16, 16), 16), Some(64));
        assert_eq!(whole_rows(&a(16, 16), 240), Some(960));
        // Nothing to rotate, a matrix that is the second one, parts of rows, rows that begin anywhere.
        for offset in [0, 256, 300, 8, u32::MAX] {
            assert_eq!(whole_rows(&a(16, 16), offset), None, "{offset}");
        }
        assert_eq!(whole_rows(&a(16, 8), 8), None);
        // Behind the elements of large factors is a note.
        assert_eq!(whole_rows(&a(64, 64), 64), None);
    }
}
