//! Reductions.
//!
//! The lists that are reduced, rows or columns, lie side by side in memory, and are folded there all at once:
//! of lists `a` to `d` of four elements each
//!
//! ```text
//! a0 b0 c0 d0 a1 b1 c1 d1 a2 b2 c2 d2 a3 b3 c3 d3
//!  ↑ ←──────────────────── a2 = half a list further
//! ```
//!
//! So consecutive invocations work on consecutive elements, and the tree is the one that `mat_reduce` has in
//! the IR. It goes two steps at a time where the length allows, four elements become one: so half of what is
//! made stays in registers, and a loop over the steps holds the region three times, however long the list is.
//!
//! Every element of the result takes the bits of the list's first element: that is read with a stride of 0,
//! which repeats a row or a column.

use super::{Area, Expand};
use crate::entities::{Block, Value};
use crate::module::InstInfo;
use crate::op::{BinaryOp, CompareOp, MemFlags, Op};
use crate::tensor::MatReduceKind;
use crate::types::Scalar;

impl Expand<'_> {
    pub(super) fn reduce(&mut self, info: &InstInfo, kind: MatReduceKind, body: Block) {
        let (from, to) = (self.mat(info.args[0]), self.mat(info.results[0]));
        let by_columns = kind == MatReduceKind::Row;
        let matrix = self.arg(info, 0);
        let area = self.spill(matrix, from, by_columns);
        self.settle();
        match kind {
            MatReduceKind::Row => {
                self.fold(area, from.rows, from.cols, body);
                self.fill_strided(info, to, area, 0, by_columns);
            }
            MatReduceKind::Column => {
                self.fold(area, from.cols, from.rows, body);
                self.fill_strided(info, to, area, 0, by_columns);
            }
            MatReduceKind::All => {
                self.fold(area, from.cols, from.rows, body);
                self.fold(area, 1, from.cols, body);
                let zero = self.int(0);
                let x = self.read(area, zero);
                let result = self.b().value(Op::MatSplat, &[x], to.into());
                self.values[info.results[0].index()] = result;
            }
            MatReduceKind::Square => self.squares(info, area, body),
        }
    }

    /// Reduces each of `lists` lists of `len` elements to its first one; element `i` of list `l` is at
    /// `i * lists + l`.
    fn fold(&mut self, area: Area, lists: u32, len: u32, body: Block) {
        let mut len = len;
        // Down to a power of four.
        while len > 1 && !(len.is_power_of_two() && len.trailing_zeros().is_multiple_of(2)) {
            let half = len.next_power_of_two() / 2;
            self.share((len - half) * lists, |this, e| {
                let distance = this.int(half * lists);
                let at = this.places(area, e, distance);
                let x = this.two(area, [at[0], at[1]], body);
                this.b().effect(Op::Store(MemFlags::default()), &[at[0], x]);
            });
            self.settle();
            len = half;
        }
        if len > 1 {
            self.quarters(area, lists, len, body);
        }
    }

    /// As [`Self::fold`], if the length is a power of four.
    fn quarters(&mut self, area: Area, lists: u32, len: u32, body: Block) {
        let left = self.var(Scalar::I32);
        let (zero, two, lists_value) = (self.int(0), self.int(2), self.int(lists));
        let (lane, lanes) = (self.lane, self.lanes);
        let is_even = self.known(lanes).is_some_and(|lanes| lists.is_multiple_of(lanes));
        let first = self.int(len / 4 * lists);
        self.b().var_store(left, None, first);
        let (label, inner) = (self.new.new_label(), self.new.new_block());
        self.b().effect(Op::Loop { label, body: inner }, &[]);
        self.within(inner, |this| {
            // The elements that are left of all lists; four as far apart become one.
            let count = this.b().var_load(left, None);
            this.count_to(zero, count, lanes, |this, first| {
                let e = this.b().binary(BinaryOp::Iadd, first, lane);
                let is_inside = (!is_even).then(|| this.b().compare(CompareOp::Ult, e, count));
                this.when(is_inside, |this| {
                    let at = this.places(area, e, count);
                    let x = this.four(area, at, body);
                    this.b().effect(Op::Store(MemFlags::default()), &[at[0], x]);
                });
            });
            this.settle();
            let next = this.b().binary(BinaryOp::Lshr, count, two);
            this.b().var_store(left, None, next);
            let more = this.b().compare(CompareOp::Ule, lists_value, next);
            this.when(Some(more), |this| this.b().br(label));
        });
    }

    /// The places of four elements so far apart.
    fn places(&mut self, area: Area, first: Value, distance: Value) -> [Value; 4] {
        let bytes = area.elem.bytes().into();
        let a = self.place(area, first);
        let b = self.b().ptr_add(a, Some(distance), bytes, 0);
        let c = self.b().ptr_add(b, Some(distance), bytes, 0);
        let d = self.b().ptr_add(c, Some(distance), bytes, 0);
        [a, b, c, d]
    }

    /// Reduces a list of two elements, which are at these places.
    fn two(&mut self, area: Area, at: [Value; 2], body: Block) -> Value {
        let elements = at.map(|at| self.b().value(Op::Load(MemFlags::default()), &[at], area.elem.into()));
        self.inline(body, &elements)
    }

    /// Reduces a list of four elements.
    fn four(&mut self, area: Area, [a, b, c, d]: [Value; 4], body: Block) -> Value {
        let x = self.two(area, [a, c], body);
        let y = self.two(area, [b, d], body);
        self.inline(body, &[x, y])
    }

    fn squares(&mut self, info: &InstInfo, area: Area, body: Block) {
        let (from, to) = (self.mat(info.args[0]), self.mat(info.results[0]));
        let out = self.area(to.elem, to.len());
        let bytes = i64::from(area.elem.bytes());
        self.share(to.len() as u32, |this, e| {
            let (row, col) = this.row_and_col(e, to.cols);
            // Element (2 * row, 2 * col).
            let (rows, two) = (this.int(2 * from.cols), this.int(2));
            let first = this.binary(BinaryOp::Imul, row, rows);
            let col = this.binary(BinaryOp::Imul, col, two);
            let first = this.binary(BinaryOp::Iadd, first, col);
            let first = this.place(area, first);
            let cols = i64::from(from.cols);
            let at = [0, 1, cols, cols + 1].map(|i| this.b().ptr_add(first, None, 0, i * bytes));
            let x = this.four(area, at, body);
            this.write(out, e, x);
        });
        self.settle();
        self.fill(info, to, out);
    }
}
