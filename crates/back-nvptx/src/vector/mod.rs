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
use phalanx_ir::{MemFlags, Scalar, Space, Value};

/// Elements in memory, in lines.
#[derive(Clone, Copy, Debug)]
struct Matrix<'c> {
    p: Ptr<'c>,
    /// What the pointer is a multiple of, as far as that is seen.
    align: u64,
    elem: Scalar,
    rows: u32,
    columns: u32,
    /// Bytes (`i64`) from an element to the next in its row, and in its column.
    steps: [V<'c>; 2],
}

impl<'c> Lower<'_, 'c> {
    /// A matrix at a pointer, of given bytes from an element to the next; `None` for a stride that is an operand.
    fn matrix(
        &self,
        pointer: Value,
        elem: Scalar,
        [rows, columns]: [u32; 2],
        steps: [Option<u64>; 2],
        stride: V<'c>,
    ) -> Result<Matrix<'c>> {
        let steps = steps.map(|step| step.map_or(stride, |step| self.e.i64(step.cast_signed())));
        let (p, align) = (self.ptr(pointer)?, self.align_of(pointer));
        Ok(Matrix { p, align, elem, rows, columns, steps })
    }

    /// Whether all elements are inside of the object, and the rows begin at multiples of so many bytes (or the columns, where it
    /// is the bytes of an element).
    fn is_inside_and_aligned(&mut self, m: &Matrix<'c>, align: u64) -> Result<V<'c>> {
        let bytes = u64::from(m.elem.bytes());
        let [along_row, along_column] = m.steps;
        let mut holds = self.e.bool(true);
        if m.p.space != Space::Global {
            // With strides of 32 bits no sum below wraps.
            for step in m.steps {
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
        let [along_row, along_column] = m.steps;
        let offset = self.e.add(m.p.offset, self.e.mul(row, along_column)?)?;
        let offset = self.e.add(offset, self.e.mul(column, along_row)?)?;
        Ok(Ptr { offset, ..m.p })
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
