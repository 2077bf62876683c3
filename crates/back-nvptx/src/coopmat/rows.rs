//! One piece of code that loads a matrix, whether it lies well in memory or not.
//!
//! Code that loads a lane's elements is as long as there are registers. What lies unevenly, or partly outside of its object,
//! is first brought to an array in the lane's own memory, in a loop ([`each`](super::each)). So that it is not loaded from
//! there by code of its own, pieces lie in the array as far apart as they do in a row of memory; all that differs is where
//! the lane's rows begin:
//!
//! ```text
//! rows = easy ? rows in memory : (loop: elements to the array), rows in the array
//! for each piece: load it from its row + what is known
//! ```
//!
//! A piece is a quarter of what lies between it and the next, so four rows lie side by side in the array.

use super::layout::{Calc, GROUP, GROUPS, Kind, Layout};
use super::memory::{Easy, Place};
use crate::lower::Lower;
use inkwell::AddressSpace;
use inkwell::values::{InstructionOpcode as I, PointerValue};
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::distribution::Known;
use phalanx_ir::{Block, Inst, MemFlags, Op, Scalar, Var};

/// Pieces of rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pieces {
    pub(super) layout: Layout,
    pub(super) elem: Scalar,
    pub(super) flags: MemFlags,
}

impl Pieces {
    /// Bytes of a piece.
    fn bytes(&self) -> u64 {
        u64::from(self.layout.width() * self.elem.bytes())
    }

    fn count(&self) -> u32 {
        self.layout.line_blocks() * self.layout.steps()
    }
}

/// What is added to a variable of one matrix, when it is known where it is.
#[derive(Clone, Debug)]
pub(crate) struct Addend<'c> {
    pieces: Pieces,
    /// Where its rows begin.
    rows: Vec<PointerValue<'c>>,
}

/// Whether a lane's registers are pieces of rows.
pub(super) fn has_rows(layout: &Layout) -> bool {
    matches!(layout.kind, Kind::Fragments { by_cols: false, .. }) && !layout.is_padded()
}

/// Elements of an array in which pieces lie as they do in memory.
fn spaced(layout: &Layout) -> u32 {
    layout.line_blocks().div_ceil(GROUP) * layout.steps() * GROUP * layout.width()
}

/// Which element of such an array a register is.
pub(super) fn place_spaced<C: Calc>(
    layout: &Layout,
    c: &mut C,
    register: C::N,
) -> std::result::Result<C::N, C::Error> {
    let (width, of_row) = (layout.width(), layout.steps() * layout.width());
    let row = c.quotient(register, of_row)?;
    let along = c.remainder(register, of_row)?;
    let step = c.quotient(along, width)?;
    let within = c.remainder(along, width)?;
    let beside = c.remainder(row, GROUP)?;
    let below = c.quotient(row, GROUP)?;
    let parts = [(beside, width), (below, of_row * GROUP), (step, GROUP * width)];
    parts.into_iter().try_fold(within, |sum, (number, elements)| {
        let elements = c.times(number, elements)?;
        c.sum(sum, elements)
    })
}

impl<'c> Lower<'_, 'c> {
    /// The array in which pieces lie as they do in memory.
    fn spaced_array(&mut self, pieces: Pieces) -> Result<PointerValue<'c>> {
        self.array(pieces.elem, spaced(&pieces.layout))
    }

    fn rows_in_array(&mut self, pieces: Pieces, array: PointerValue<'c>) -> Result<Vec<V<'c>>> {
        let Pieces { layout, elem, .. } = pieces;
        let row = |number: u32| {
            let Ok(element) = place_spaced(&layout, &mut Known, number * layout.steps() * layout.width());
            self.e.field(array, u64::from(element * elem.bytes())).map(Into::into)
        };
        (0..layout.line_blocks()).map(row).collect()
    }

    fn rows_in_memory(&mut self, place: &Place<'c>) -> Result<Vec<V<'c>>> {
        let lane_at = self.lane_at(place)?;
        let any_memory = self.e.cx.ptr_type(AddressSpace::default());
        let lane_at = self.e.cast(I::AddrSpaceCast, lane_at, any_memory)?;
        let mut rows = Vec::new();
        for number in 0..place.layout.line_blocks() {
            let (row, col) = (self.e.i32(GROUPS * number), self.e.i32(0));
            let further = self.offset_in(place, (row, col))?;
            rows.push(self.e.offset(lane_at, further)?);
        }
        Ok(rows)
    }

    /// Where the rows of a matrix begin that is loaded: in memory, or in an array where its elements are by then.
    fn rows_to_load(&mut self, place: &Place<'c>) -> Result<Vec<V<'c>>> {
        let each = |l: &mut Self| {
            let array = l.spaced_array(place.pieces())?;
            l.call_routine(place, false, (array, true))?;
            l.rows_in_array(place.pieces(), array)
        };
        match self.is_easy(place, place.piece())? {
            Easy::Always => self.rows_in_memory(place),
            Easy::Never => each(self),
            Easy::If(easy) => self.either(easy, |l| l.rows_in_memory(place), each),
        }
    }

    /// Loads a matrix that has rows, as words.
    pub(super) fn load_by_rows(&mut self, place: &Place<'c>) -> Result<Vec<V<'c>>> {
        let rows = self.rows_to_load(place)?;
        let mut words = Vec::new();
        for number in 0..place.pieces().count() {
            words.extend(self.load_piece_at(place.pieces(), &rows, number)?);
        }
        Ok(words)
    }

    fn load_piece_at(&mut self, pieces: Pieces, rows: &[V<'c>], number: u32) -> Result<Vec<V<'c>>> {
        let at = self.piece_at(pieces, rows, number)?;
        let (word, bytes) = (Self::word_scalar(pieces.elem), pieces.bytes());
        self.read_aligned(at, word, (bytes / u64::from(word.bytes())) as usize, bytes, pieces.flags)
    }

    fn piece_at(&mut self, pieces: Pieces, rows: &[V<'c>], number: u32) -> Result<PointerValue<'c>> {
        let Pieces { layout, elem, .. } = pieces;
        let row = rows[(number / layout.steps()) as usize].into_pointer_value();
        let further = number % layout.steps() * GROUP * layout.width() * elem.bytes();
        self.e.field(row, further.into())
    }

    /// An addend of a variable, of which nothing is known yet.
    pub(crate) fn start_addend(&mut self, var: Var) -> Result<Addend<'c>> {
        let (layout, elem) = self.held_by(var)?;
        let ty = self.e.cx.ptr_type(AddressSpace::default());
        let rows = (0..layout.line_blocks()).map(|_| self.reserve(ty)).collect::<Result<_>>()?;
        Ok(Addend { pieces: Pieces { layout, elem, flags: MemFlags::default() }, rows })
    }

    /// An addend that is loaded.
    pub(crate) fn load_addend(&mut self, inst: Inst, addend: &Addend<'c>) -> Result<()> {
        let info = self.f.inst(inst);
        let Op::MatLoad { column_major, flags } = info.op else {
            return Err(Error::bug("what is added is loaded"));
        };
        let m = self.mat_ty(info.results[0])?;
        let place = self.mat_place(info.args[0], info.args[1], column_major, flags, m)?;
        let rows = self.rows_to_load(&place)?;
        self.set_rows(addend, &rows)
    }

    /// An addend that a region makes, element by element.
    pub(crate) fn map_addend(&mut self, inst: Inst, body: Block, addend: &Addend<'c>) -> Result<()> {
        let array = self.spaced_array(addend.pieces)?;
        self.map_spaced(inst, body, array)?;
        let rows = self.rows_in_array(addend.pieces, array)?;
        self.set_rows(addend, &rows)
    }

    fn set_rows(&mut self, addend: &Addend<'c>, rows: &[V<'c>]) -> Result<()> {
        for (&cell, &row) in addend.rows.iter().zip(rows) {
            self.e.b.build_store(cell, row)?;
        }
        Ok(())
    }

    /// Adds an addend to its variable. What is loaded is held no longer than it takes to be added, as sums fill the registers.
    pub(crate) fn add(&mut self, addend: &Addend<'c>, var: Var) -> Result<()> {
        let ty = self.e.cx.ptr_type(AddressSpace::default());
        let load = |&cell: &PointerValue<'c>| Ok(self.e.b.build_load(ty, cell, "")?);
        let rows: Vec<V<'c>> = addend.rows.iter().map(load).collect::<Result<_>>()?;
        for number in 0..addend.pieces.count() {
            let piece = self.load_piece_at(addend.pieces, &rows, number)?;
            self.add_words(var, number * piece.len() as u32, &piece)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_ir::{MatType, Scope, Use};

    #[test]
    fn pieces_lie_in_an_array_as_in_memory() {
        for (rows, cols, elem) in [(16, 256, Scalar::F32), (96, 48, Scalar::I32), (32, 64, Scalar::F16)] {
            let use_ = Use::Accumulator;
            let layout = Layout::fragments(MatType { elem, scope: Scope::Subgroup, rows, cols, use_ });
            let place = |register| place_spaced(&layout, &mut Known, register).unwrap();
            let mut places: Vec<u32> = (0..layout.registers()).map(place).collect();
            for register in 0..layout.registers() {
                let (row, col) = layout.element(0, register).unwrap();
                let (_, first) = layout.at(row, 0);
                assert_eq!(place(register) - place(first), col, "{layout:?} {register}");
            }
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), layout.registers() as usize, "{layout:?}");
            assert!(places.iter().all(|&at| at < spaced(&layout)), "{layout:?}");
        }
    }
}
