//! Reductions of columns, and of whole matrices, in registers.
//!
//! The upper half of the rows is folded onto the lower half until one row is left; what is left of all columns is halved in
//! the same way:
//!
//! ```text
//! a0 a1 a2 a3          a0·c0  a1·c1  a2·c2  a3·c3                                 the row, in each row of the result,
//! b0 b1 b2 b3    →     b0·d0  b1·d1  b2·d2  b3·d3    →    w0 w1 w2 w3      →     or   w0·w2  w1·w3   →   all
//! c0 c1 c2 c3
//! d0 d1 d2 d3
//! ```
//!
//! The tree is that of `mat_reduce`: element `i` with element `h + i`, where all sides are powers of two. Rows that are
//! shorter than a vector are folded within it at last. Half of the matrix goes to what kernels work with.

use super::map::is_row;
use super::reduce::is_pure;
use super::{MatValue, layout};
use crate::emit::V;
use crate::error::Result;
use crate::lower::Lower;
use phalanx_ir::{Block, Function, Inst, InstInfo, MatReduceKind, MatType, Op, Scalar};
use phalanx_kernels::KernelSet;

/// Most vectors of a row: those of one are in registers together.
const MOST_VECTORS: u32 = 8;

/// Whether a reduction is done here, for so many lanes, all of which exist.
pub(super) fn is_direct(isa: KernelSet, func: &Function, info: &InstInfo, lanes: u32) -> bool {
    let &Op::MatReduce { kind: MatReduceKind::Column | MatReduceKind::All, body } = &info.op else {
        return false;
    };
    let (Some(from), Some(to)) = (func.ty(info.args[0]).mat(), func.ty(info.results[0]).mat()) else {
        return false;
    };
    let are_rows = [from, to].into_iter().all(|m| is_row(layout(isa, m), m, lanes));
    let are_powers = from.rows.is_power_of_two() && from.cols.is_power_of_two();
    are_rows && are_powers && from.cols / lanes <= MOST_VECTORS && is_pure(func, body)
}

/// Bytes that a reduction works with.
pub(super) fn scratch_bytes(func: &Function, isa: KernelSet, inst: Inst) -> u64 {
    let info = func.inst(inst);
    let is_ours = matches!(info.op, Op::MatReduce { kind: MatReduceKind::Column | MatReduceKind::All, .. });
    let from = info.args.first().filter(|_| is_ours).and_then(|&v| func.ty(v).mat());
    from.map_or(0, |from| layout(isa, half(from)).bytes() as u64)
}

/// The lower half of a matrix.
fn half(m: MatType) -> MatType {
    MatType { rows: m.rows.div_ceil(2), ..m }
}

impl<'c> Lower<'_, 'c> {
    pub(super) fn mat_reduce_columns(&mut self, inst: Inst, kind: MatReduceKind, body: Block) -> Result<()> {
        let (operand, result) = (self.mat_arg(inst, 0)?, self.mat_result(inst)?);
        let (lanes, cols, elem) = (self.w, operand.ty.cols, operand.ty.elem);
        // Vectors of a row, or rows of a vector.
        let (of_row, rows) = ((cols / lanes).max(1), (lanes / cols).max(1));
        self.here.is_element = true;
        let mut left = operand;
        let mut vectors = (operand.ty.len() / u64::from(lanes)) as u32;
        while vectors > of_row {
            vectors /= 2;
            let to = MatValue { tile: self.matrix_scratch()?, ty: half(operand.ty) };
            self.count_up(vectors, |l, i| {
                l.note_site()?;
                let other = l.e.add(i, l.e.i32(vectors))?;
                let (x, y) = (l.read_component(&left, i)?, l.read_component(&left, other)?);
                let folded = l.fold(body, x, y)?;
                l.write_component(&to, i, folded)
            })?;
            left = to;
        }
        self.note_site()?;
        let row = (0..of_row).map(|i| self.read_component(&left, self.e.i32(i)));
        let mut row = row.collect::<Result<Vec<_>>>()?;
        row[0] = self.fold_vector((elem, body), row[0], [rows * cols.min(lanes), cols.min(lanes)])?;
        if kind == MatReduceKind::All {
            row = self.fold_vectors(body, row)?;
            row[0] = self.fold_vector((elem, body), row[0], [cols.min(lanes), 1])?;
        }
        self.write_row(&result, &row, if kind == MatReduceKind::All { 1 } else { cols.min(lanes) })?;
        self.here.is_element = false;
        Ok(())
    }

    /// Folds the upper half of so many elements of a vector onto the lower half until so many are left.
    fn fold_vector(
        &mut self,
        (elem, body): (Scalar, Block),
        mut x: V<'c>,
        [mut count, left]: [u32; 2],
    ) -> Result<V<'c>> {
        let lanes = self.w;
        while count > left {
            count /= 2;
            // What is behind them may be anything.
            let picks: Vec<u32> = (0..lanes).map(|lane| (lane + count) % lanes).collect();
            let upper = self.e.pick(elem, x, &picks)?;
            x = self.fold(body, x, upper)?;
        }
        Ok(x)
    }

    /// Writes a row to each row of a matrix; of one vector its first elements again and again.
    fn write_row(&mut self, result: &MatValue<'c>, row: &[V<'c>], elements: u32) -> Result<()> {
        let lanes = self.w;
        let row = match row {
            [one] => vec![self.e.permute(*one, (0..lanes).map(|lane| lane % elements))?],
            several => several.to_vec(),
        };
        let count = row.len() as u32;
        let rows = (result.ty.len() / u64::from(lanes)) as u32 / count;
        self.count_up(rows, |l, number| {
            let first = l.e.mul(number, l.e.i32(count))?;
            for (i, &x) in (0..).zip(&row) {
                let component = l.e.add(first, l.e.i32(i))?;
                l.write_component(result, component, x)?;
            }
            Ok(())
        })
    }
}
