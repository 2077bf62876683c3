//! Vectors of invocations, multiplied by a matrix in memory or added to one (SPV_NV_cooperative_vector).
//!
//! An invocation works alone, as its matrix is its own, unless a warp is seen to be together and to share the matrices of
//! products (`chain`, `warp`). Where elements lie is said by [`phalanx_ir::MatrixLayout`]. That a matrix is inside of its object, and
//! aligned, is asked once for all of its elements; where it is not so, once for each.

mod add;
mod chain;
mod multiply;
mod spread;
mod warp;

use crate::lower::{Lower, Ptr};
use inkwell::IntPredicate;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::vector::TURN;
use phalanx_ir::{MemFlags, Scalar, Space, Value};

/// Elements in memory.
#[derive(Clone, Copy, Debug)]
struct Matrix<'c> {
    p: Ptr<'c>,
    /// What the pointer is a multiple of, as far as that is seen.
    align: u64,
    elem: Scalar,
    rows: u32,
    columns: u32,
    places: Places<'c>,
}

/// Where the elements are.
#[derive(Clone, Copy, Debug)]
enum Places<'c> {
    /// Bytes (`i64`) from an element to the next in its row, and in its column.
    Lines([V<'c>; 2]),
    /// Rows take turns ([`MatrixLayout::Paired`](phalanx_ir::MatrixLayout::Paired)).
    Paired {
        /// Bytes of a row, and of all.
        stride: u64,
        bytes: u64,
        /// Whether it is the transpose that lies so.
        transposed: bool,
    },
}

impl<'c> Lower<'_, 'c> {
    /// A matrix at a pointer.
    fn matrix(
        &self,
        pointer: Value,
        elem: Scalar,
        [rows, columns]: [u32; 2],
        places: Places<'c>,
    ) -> Result<Matrix<'c>> {
        let (p, align) = (self.ptr(pointer)?, self.align_of(pointer));
        Ok(Matrix { p, align, elem, rows, columns, places })
    }

    /// The places of lines, from the steps with a stride of 0 and of 1: those that differ follow the operand.
    fn lines(
        &self,
        (row, column): (u64, u64),
        (other_row, other_column): (u64, u64),
        stride: V<'c>,
    ) -> Places<'c> {
        let step = |a: u64, b: u64| if a == b { self.e.i64(a.cast_signed()) } else { stride };
        Places::Lines([step(row, other_row), step(column, other_column)])
    }

    /// Whether all elements are inside of the object, and the rows begin at multiples of so many bytes (or the columns, where it
    /// is the bytes of an element).
    fn is_inside_and_aligned(&mut self, m: &Matrix<'c>, align: u64) -> Result<V<'c>> {
        let bytes = u64::from(m.elem.bytes());
        let [along_row, along_column] = match m.places {
            Places::Lines(steps) => steps,
            Places::Paired { bytes, .. } => return self.is_span_inside(&m.p, bytes, align),
        };
        let mut holds = self.e.bool(true);
        if m.p.space != Space::Global {
            // With strides of 32 bits no sum below wraps.
            for step in [along_row, along_column] {
                let is_short = self.e.icmp(IntPredicate::ULT, step, self.e.i64(1 << 32))?;
                holds = self.e.and(holds, is_short)?;
            }
            let row = self.e.mul(along_row, self.e.i64(i64::from(m.columns) - 1))?;
            let column = self.e.mul(along_column, self.e.i64(i64::from(m.rows) - 1))?;
            let before = self.e.add(self.e.add(row, column)?, self.e.i64(bytes as i64 - 1))?;
            let end = self.e.map2("llvm.usub.sat", m.p.size, before)?;
            let is_inside = self.e.icmp(IntPredicate::ULT, m.p.offset, end)?;
            holds = self.e.and(holds, is_inside)?;
        }
        let address = if m.align < align { self.address(&m.p)? } else { self.e.i64(0) };
        let mut all = self.e.or(address, along_column)?;
        if align == bytes {
            all = self.e.or(all, along_row)?;
        }
        let low = self.e.and(all, self.e.i64(align as i64 - 1))?;
        let is_aligned = self.e.icmp(IntPredicate::EQ, low, self.e.i64(0))?;
        self.e.and(holds, is_aligned)
    }

    /// Where the element in a row and a column (`i64`) is.
    fn place_in(&mut self, m: &Matrix<'c>, row: V<'c>, column: V<'c>) -> Result<Ptr<'c>> {
        let offset = match m.places {
            Places::Lines([along_row, along_column]) => {
                let offset = self.e.add(m.p.offset, self.e.mul(row, along_column)?)?;
                self.e.add(offset, self.e.mul(column, along_row)?)?
            }
            Places::Paired { stride, transposed, .. } => {
                let (row, column) = if transposed { (column, row) } else { (row, column) };
                let number = |x: u64| self.e.i64(x.cast_signed());
                let byte = self.e.mul(column, number(m.elem.bytes().into()))?;
                let turns = self.e.and(byte, number(!(TURN - 1)))?;
                let pair = self.e.mul(self.e.lshr(row, number(1))?, number(2 * stride))?;
                let second = self.e.mul(self.e.and(row, number(1))?, number(TURN))?;
                // `phalanx_ir::vector::paired`
                let place = self.e.add(self.e.add(pair, second)?, self.e.add(byte, turns)?)?;
                self.e.add(m.p.offset, place)?
            }
        };
        Ok(Ptr { offset, ..m.p })
    }

    /// Whether so many bytes are inside, and begin at a multiple.
    fn is_span_inside(&mut self, p: &Ptr<'c>, bytes: u64, align: u64) -> Result<V<'c>> {
        let address = self.address(p)?;
        let low = self.e.and(address, self.e.i64(align as i64 - 1))?;
        let is_aligned = self.e.icmp(IntPredicate::EQ, low, self.e.i64(0))?;
        if p.space == Space::Global {
            return Ok(is_aligned);
        }
        let end = self.e.map2("llvm.usub.sat", p.size, self.e.i64(bytes as i64 - 1))?;
        let is_inside = self.e.icmp(IntPredicate::ULT, p.offset, end)?;
        self.e.and(is_inside, is_aligned)
    }

    /// The scalar at a pointer; a zero outside, if it may be there.
    fn scalar_at(&mut self, p: &Ptr<'c>, s: Scalar, is_whole: bool) -> Result<V<'c>> {
        let flags = MemFlags::default();
        let read = match is_whole {
            true => self.read(p, s, 1, s.bytes().into(), flags)?,
            false => self.read_each(p, s, 1, 1, flags)?,
        };
        Ok(read[0])
    }
}
