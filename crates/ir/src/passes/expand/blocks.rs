//! Loads that decode, where the part of the tensor is as regular as it nearly always is: it has the shape of the
//! matrix or of its transpose, lies inside, and begins where a block begins.
//!
//! Then consecutive invocations take consecutive elements of a line along the tensor's innermost dimension, and
//! everything but the coordinate in the block is the same for all of them: the block, its address, and what the region
//! makes of it. Whether the part is inside and where it begins is seen at run time; otherwise the general way is taken.
//!
//! ```text
//! for each line y:  for each run x of as many elements as invocations, or as a block has:
//!     region(address of block ((y + offset) / size, (x + offset) / size), …, (y + offset) % size, lane)
//! ```
//!
//! What comes of it is written to scratch memory, or, where the lines are rows and a target does maps component by
//! component, straight to where the matrix lies.

use super::tensor::{Tensor, Words};
use super::{Area, Expand};
use crate::entities::{Block, Value};
use crate::module::InstInfo;
use crate::op::{BinaryOp as B, CompareOp as C, ConvertKind, Op};
use crate::tensor::Clamp;
use crate::types::Scalar;
use smallvec::SmallVec;

/// Which dimensions of a tensor a matrix runs along.
#[derive(Clone, Copy, Debug)]
pub(super) struct Regular {
    /// The dimension of the lines, and that along them, which is the innermost.
    line: usize,
    along: usize,
    /// How many lines, and their elements.
    lines: u32,
    len: u32,
    /// Whether lines are columns of the matrix.
    pub(super) column_major: bool,
    /// Sizes of a block along both.
    line_block: u32,
    block: u32,
}

impl Expand<'_> {
    /// How the matrix runs along the tensor, if its invocations take runs of a line each.
    pub(super) fn regular(&self, t: &Tensor<'_>) -> Option<Regular> {
        let r = self.rectangle(t)?;
        let lanes = self.known(self.lanes)?;
        let fits =
            r.len.is_multiple_of(lanes) && (r.block.is_multiple_of(lanes) || lanes.is_multiple_of(r.block));
        fits.then_some(r)
    }

    /// How the matrix runs along the tensor, if each of its sides runs along one dimension, one of them the innermost.
    pub(super) fn rectangle(&self, t: &Tensor<'_>) -> Option<Regular> {
        let dims = t.dims();
        let order: SmallVec<[usize; 5]> = match &t.access.view {
            Some(view) if view.has_dimensions || usize::from(view.dims) != dims => return None,
            Some(view) => view.permutation[..dims].iter().map(|&d| d.into()).collect(),
            None => (0..dims).collect(),
        };
        let span = |d: usize| self.known(t.words[t.operands.span(d)]);
        let long: SmallVec<[usize; 5]> = order.iter().copied().filter(|&d| span(d) != Some(1)).collect();
        let &[rows, cols] = long.as_slice() else { return None };
        if self.clips(t) || span(rows) != Some(t.m.rows) || span(cols) != Some(t.m.cols) {
            return None;
        }
        let block = |d: usize| self.known(t.words[t.operands.block(d)]);
        let column_major = rows == dims - 1;
        let (line, along) = if column_major { (cols, rows) } else { (rows, cols) };
        let (lines, len) = if column_major { (t.m.cols, t.m.rows) } else { (t.m.rows, t.m.cols) };
        let regular = Regular {
            line,
            along,
            lines,
            len,
            column_major,
            line_block: block(line).filter(|&size| size > 0)?,
            block: block(along).filter(|&size| size > 0)?,
        };
        (along == dims - 1).then_some(regular)
    }

    /// How a matrix lies in memory as plain loads and stores have it, where the part of the tensor is inside; and the
    /// bytes from a line to the next.
    pub(super) fn plain(&mut self, t: &Tensor<'_>) -> Option<(Regular, Value)> {
        let r = self.rectangle(t)?;
        let elements = (r.line_block, r.block) == (1, 1) && t.access.unit == t.m.elem.bytes();
        if !elements || self.known(t.words[t.operands.stride(r.along)]) != Some(1) {
            return None;
        }
        let stride = t.words[t.operands.stride(r.line)];
        let stride = self.b().convert(ConvertKind::UToU, stride, Scalar::I64);
        let unit = self.b().i64(t.access.unit.into());
        Some((r, self.b().binary(B::Imul, stride, unit)))
    }

    /// Whether all elements are inside, and blocks begin with runs; without a value always.
    pub(super) fn is_regular(&mut self, t: &Tensor<'_>, r: &Regular) -> Option<Value> {
        let all = self.begins_evenly(t, r);
        self.is_inside(t, all)
    }

    fn begins_evenly(&mut self, t: &Tensor<'_>, r: &Regular) -> Option<Value> {
        let run = self.known(self.lanes).map_or(r.block, |lanes| lanes.min(r.block));
        if run <= 1 {
            return None;
        }
        let (size, zero) = (self.int(run), self.int(0));
        let rest = self.b().binary(B::Umod, t.words[t.operands.offset(r.along)], size);
        Some(self.b().compare(C::Ieq, rest, zero))
    }

    /// Whether the part of the tensor is inside, and a condition holds; without a value always.
    pub(super) fn is_inside(&mut self, t: &Tensor<'_>, mut all: Option<Value>) -> Option<Value> {
        if t.access.clamp == Clamp::Undefined {
            return all;
        }
        for d in 0..t.dims() {
            let (size, offset) = (t.words[t.operands.dimension(d)], t.words[t.operands.offset(d)]);
            let span = t.words[t.operands.span(d)];
            // Signed, so that the difference is not negative; then so is no offset below it.
            let is_large = self.b().compare(C::Sle, span, size);
            let last = self.b().binary(B::Isub, size, span);
            let is_inside = self.b().compare(C::Ule, offset, last);
            all = self.both(all, Some(is_large));
            all = self.both(all, Some(is_inside));
        }
        all
    }

    /// A load that decodes as a map: where it is inside and begins with a block, the place of an element in its block is
    /// known from the element's own, so that neighbours are seen to share a block.
    pub(super) fn load_blocks(
        &mut self,
        t: &Tensor<'_>,
        r: &Regular,
        pointer: Value,
        decode: Block,
    ) -> Value {
        let begins = (r.block > 1).then(|| {
            let (size, zero) = (self.int(r.block), self.int(0));
            let rest = self.b().binary(B::Umod, t.words[t.operands.offset(r.along)], size);
            self.b().compare(C::Ieq, rest, zero)
        });
        let is_regular = self.is_inside(t, begins);
        let var = self.var(t.m);
        self.choose(
            is_regular,
            |this| {
                let zero = this.b().constant(t.m.elem, 0);
                let zeros = this.b().value(Op::MatSplat, &[zero], t.m.into());
                let matrix = this.map_elements(t, zeros, |this, row, col, _| {
                    let (line, along) = if r.column_major { (col, row) } else { (row, col) };
                    let y = this.binary(B::Iadd, line, t.words[t.operands.offset(r.line)]);
                    let (first, _) = this.divide(t.words[t.operands.offset(r.along)], r.block);
                    let (further, in_block) = this.divide(along, r.block);
                    let x = (this.b().binary(B::Iadd, first, further), in_block);
                    this.decoded(t, r, pointer, decode, (y, x))
                });
                this.b().var_store(var, None, matrix);
            },
            |this| {
                let matrix = this.load_map(t, pointer, Some(decode), None);
                this.b().var_store(var, None, matrix);
            },
        );
        self.b().var_load(var, None)
    }

    /// A load that decodes as a map whose components are runs of rows, if the target does that whole: then what is
    /// decoded goes where the matrix lies, and nowhere else. The invocation that has a component is the one that
    /// the column says, so the rest of the column is the same for all.
    ///
    /// ```text
    /// for each component:  region(address of block (…), …, (y + offset) % size, lane)     where it is regular
    ///                      or whatever the layout says
    /// ```
    pub(super) fn load_components(
        &mut self,
        info: &InstInfo,
        t: &Tensor<'_>,
        pointer: Value,
        decode: Block,
    ) -> Option<Value> {
        let r = self.regular(t).filter(|r| self.place.decodes_in_components && !r.column_major)?;
        // As far as a target looks at a map, this is the one.
        let map = InstInfo { op: Op::MatMap { body: decode }, args: SmallVec::new(), ..info.clone() };
        if !(self.is_whole)(self.old, &map) {
            return None;
        }
        let is_regular = self.is_regular(t, &r);
        Some(self.map_of(t, &[], |this, params| {
            let &[row, col] = params else { return this.lane };
            let out = this.var(t.m.elem);
            this.choose(
                is_regular,
                |this| {
                    let lane = this.lane;
                    let first = this.b().binary(B::Isub, col, lane);
                    let x = this.blocks_along(t, &r, first);
                    let y = this.binary(B::Iadd, row, t.words[t.operands.offset(r.line)]);
                    let x = this.decoded(t, &r, pointer, decode, (y, x));
                    this.b().var_store(out, None, x);
                },
                |this| this.load_element(t, pointer, Some(decode), (row, col), out),
            );
            this.b().var_load(out, None)
        }))
    }

    /// The decoded element of line `y` and of a block and a place in it along the line.
    fn decoded(
        &mut self,
        t: &Tensor<'_>,
        r: &Regular,
        pointer: Value,
        decode: Block,
        (y, x): (Value, (Value, Value)),
    ) -> Value {
        let (mut block, mut in_block) = (Words::new(), Words::new());
        for d in 0..t.dims() {
            let (b, i) = if d == r.line {
                self.divide(y, r.line_block)
            } else if d == r.along {
                x
            } else {
                let (offset, size) = (t.words[t.operands.offset(d)], t.words[t.operands.block(d)]);
                let rest = self.b().binary(B::Umod, offset, size);
                (self.binary(B::Udiv, offset, size), rest)
            };
            block.push(b);
            in_block.push(i);
        }
        let at = self.address(t, pointer, &block);
        let params: SmallVec<[Value; 4]> = [at].into_iter().chain(block).chain(in_block).collect();
        self.inline(decode, &params)
    }

    /// Decodes all elements of a matrix, line by line, to an area.
    pub(super) fn decode_lines(
        &mut self,
        t: &Tensor<'_>,
        r: &Regular,
        pointer: Value,
        decode: Block,
        out: Area,
    ) {
        let (one, lanes) = (self.int(1), self.lanes);
        self.count(0, r.lines, one, |this, line| {
            let y = this.binary(B::Iadd, line, t.words[t.operands.offset(r.line)]);
            let len = this.int(r.len);
            let start = this.b().binary(B::Imul, line, len);
            this.count(0, r.len, lanes, |this, first| {
                let x = this.blocks_along(t, r, first);
                let x = this.decoded(t, r, pointer, decode, (y, x));
                let e = this.b().binary(B::Iadd, start, first);
                let lane = this.lane;
                let e = this.b().binary(B::Iadd, e, lane);
                this.write(out, e, x);
            });
        });
    }

    /// Block and place in the block of the elements of a run.
    fn blocks_along(&mut self, t: &Tensor<'_>, r: &Regular, first: Value) -> (Value, Value) {
        let (lane, lanes) = (self.lane, self.known(self.lanes).unwrap_or(1));
        let x = self.binary(B::Iadd, first, t.words[t.operands.offset(r.along)]);
        if r.block >= lanes {
            let (block, rest) = self.divide(x, r.block);
            let at = if r.block == lanes { lane } else { self.b().binary(B::Iadd, rest, lane) };
            return (block, at);
        }
        let (block, _) = self.divide(x, r.block);
        let (further, at) = self.divide(lane, r.block);
        (self.b().binary(B::Iadd, block, further), at)
    }

    /// Quotient and remainder.
    fn divide(&mut self, x: Value, by: u32) -> (Value, Value) {
        if by == 1 {
            return (x, self.int(0));
        }
        let by = self.int(by);
        (self.b().binary(B::Udiv, x, by), self.b().binary(B::Umod, x, by))
    }
}
