//! Reductions.
//!
//! An invocation reduces whole rows (or columns), so that every element of the result which takes a
//! row's value takes the same bits. The result is then read with a stride of 0, which repeats a row
//! or a column.

use super::{Area, Expand};
use crate::entities::{Block, Value};
use crate::module::InstInfo;
use crate::op::{BinaryOp, Op};
use crate::tensor::MatReduceKind;

impl Expand<'_> {
    pub(super) fn reduce(&mut self, info: &InstInfo, kind: MatReduceKind, body: Block) {
        let (from, to) = (self.mat(info.args[0]), self.mat(info.results[0]));
        let matrix = self.arg(info, 0);
        match kind {
            // Neighbours in memory are reduced by neighbours of the subgroup.
            MatReduceKind::Row => {
                let area = self.spill(matrix, from, true);
                let out = self.lines(area, from.rows, from.cols, body);
                self.fill_strided(info, to, out, 0, true);
            }
            MatReduceKind::Column => {
                let area = self.spill(matrix, from, false);
                let out = self.lines(area, from.cols, from.rows, body);
                self.fill_strided(info, to, out, 0, false);
            }
            MatReduceKind::All => {
                let area = self.spill(matrix, from, true);
                let rows = self.lines(area, from.rows, from.cols, body);
                let zero = self.int(0);
                let x = self.chain(rows, zero, 1, from.rows, body);
                let result = self.b().value(Op::MatSplat, &[x], to.into());
                self.values[info.results[0].index()] = result;
            }
            MatReduceKind::Square => {
                let area = self.spill(matrix, from, false);
                self.squares(info, area, body);
            }
        }
    }

    /// Reduces each of `count` lines of `len` elements; element `i` of line `l` is at `i * count + l`.
    fn lines(&mut self, area: Area, count: u32, len: u32, body: Block) -> Area {
        let out = self.area(area.elem, count.into());
        self.settle();
        self.share(count, |this, line| {
            let x = this.chain(area, line, count, len, body);
            this.write(out, line, x);
        });
        self.settle();
        out
    }

    /// Reduces `len` elements from `first` on, `step` apart.
    fn chain(&mut self, area: Area, first: Value, step: u32, len: u32, body: Block) -> Value {
        let sum = self.var(area.elem);
        let x = self.read(area, first);
        self.b().var_store(sum, None, x);
        let one = self.int(1);
        self.count(1, len, one, |this, i| {
            let step = this.int(step);
            let offset = this.binary(BinaryOp::Imul, i, step);
            let index = this.binary(BinaryOp::Iadd, offset, first);
            let x = this.read(area, index);
            let so_far = this.b().var_load(sum, None);
            let x = this.inline(body, &[so_far, x]);
            this.b().var_store(sum, None, x);
        });
        self.b().var_load(sum, None)
    }

    fn squares(&mut self, info: &InstInfo, area: Area, body: Block) {
        let (from, to) = (self.mat(info.args[0]), self.mat(info.results[0]));
        let out = self.area(to.elem, to.len());
        self.settle();
        self.share(to.len() as u32, |this, e| {
            let (row, col) = this.row_and_col(e, to.cols);
            // Element (2 * row, 2 * col).
            let (rows, two) = (this.int(2 * from.cols), this.int(2));
            let first = this.binary(BinaryOp::Imul, row, rows);
            let col = this.binary(BinaryOp::Imul, col, two);
            let first = this.binary(BinaryOp::Iadd, first, col);
            let mut x = this.read(area, first);
            for offset in [1, from.cols, from.cols + 1] {
                let offset = this.int(offset);
                let index = this.binary(BinaryOp::Iadd, first, offset);
                let y = this.read(area, index);
                x = this.inline(body, &[x, y]);
            }
            this.write(out, e, x);
        });
        self.settle();
        self.fill(info, to, out);
    }
}
