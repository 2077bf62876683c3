//! Transposes, changes of use, rotations and maps.

use super::Expand;
use crate::entities::{Block, Value};
use crate::module::InstInfo;
use crate::op::{BinaryOp, MemFlags, Op};
use crate::types::MatType;
use smallvec::SmallVec;

impl Expand<'_> {
    /// Columns of the operand are rows of the result: no element has to be moved by itself.
    pub(super) fn transpose(&mut self, info: &InstInfo) {
        let (from, to) = (self.mat(info.args[0]), self.mat(info.results[0]));
        let matrix = self.arg(info, 0);
        let area = self.spill(matrix, from, true);
        self.settle();
        self.fill(info, to, area);
    }

    /// Elements are converted where they are; then the matrix changes its use.
    pub(super) fn change_use(&mut self, info: &InstInfo) {
        let (from, to) = (self.mat(info.args[0]), self.mat(info.results[0]));
        let mut matrix = self.arg(info, 0);
        let there = MatType { use_: from.use_, ..to };
        if from.elem != to.elem {
            matrix = self.b().value(info.op.clone(), &[matrix], there.into());
        }
        let area = self.spill(matrix, there, false);
        self.settle();
        self.fill(info, to, area);
    }

    /// The matrices lie one behind the other, and the result begins at the offset.
    pub(super) fn rotate(&mut self, info: &InstInfo) {
        let m = self.mat(info.results[0]);
        let (stride, size) = (i64::from(m.cols) * i64::from(m.elem.bytes()), m.len() as u32);
        let area = self.area(m.elem, 2 * m.len());
        for i in 0..2 {
            let matrix = self.arg(info, i);
            let at = self.b().ptr_add(area.at, None, 0, i as i64 * stride * i64::from(m.rows));
            let stride = self.b().i64(stride);
            let op = Op::MatStore { column_major: false, flags: MemFlags::default() };
            self.b().effect(op, &[at, matrix, stride]);
        }
        self.settle();
        let offset = self.arg(info, 2);
        let (least, most) = (self.int(0), self.int(size));
        let offset = self.b().binary(BinaryOp::Smax, offset, least);
        let offset = self.b().binary(BinaryOp::Smin, offset, most);
        let at = self.place(area, offset);
        self.fill_strided(info, m, super::Area { at, ..area }, stride, false);
    }

    pub(super) fn map(&mut self, info: &InstInfo, body: Block) {
        let m = self.mat(info.results[0]);
        let mut areas = SmallVec::<[_; 4]>::new();
        for (i, &v) in info.args.iter().enumerate() {
            let (matrix, ty) = (self.arg(info, i), self.mat(v));
            areas.push((self.spill(matrix, ty, false), ty.cols));
        }
        // An element's operands are read before it is written, by the same invocation.
        let out = areas.iter().find(|(a, cols)| a.elem.bytes() == m.elem.bytes() && *cols == m.cols);
        let out = match out {
            Some(&(area, _)) => super::Area { elem: m.elem, ..area },
            None => self.area(m.elem, m.len()),
        };
        self.settle();
        self.share(m.len() as u32, |this, e| {
            let (row, col) = this.row_and_col(e, m.cols);
            let mut params: SmallVec<[Value; 4]> = SmallVec::from_slice(&[row, col]);
            for &(area, cols) in &areas {
                let at = if cols < m.cols { this.times(row, cols) } else { e };
                params.push(this.read(area, at));
            }
            let x = this.inline(body, &params);
            this.write(out, e, x);
        });
        self.settle();
        self.fill(info, m, out);
    }

    fn times(&mut self, x: Value, by: u32) -> Value {
        let by = self.int(by);
        self.binary(BinaryOp::Imul, x, by)
    }

    /// Row and column of a row-major element.
    pub(super) fn row_and_col(&mut self, e: Value, cols: u32) -> (Value, Value) {
        let cols = self.int(cols);
        let row = self.binary(BinaryOp::Udiv, e, cols);
        (row, self.binary(BinaryOp::Umod, e, cols))
    }
}
