//! Accesses through tensor layouts: the address of each element, computed by the invocation that has it. What the
//! operands say is left out where it is known to change nothing.
//!
//! Elements that are in memory as they are, a rectangle of a tensor, are a matrix with a stride; whether they are all
//! inside is seen at run time.

use super::{Area, Expand};
use crate::entities::{Block, Value, Var};
use crate::module::InstInfo;
use crate::op::{BinaryOp as B, CompareOp as C, ConvertKind, MemFlags, Op};
use crate::tensor::{Clamp, MAX_DIMS, TensorAccess, TensorOperands, TensorView};
use crate::types::{MatType, Scalar, Type};
use smallvec::SmallVec;

/// Most bytes of a matrix that is decoded in memory where there are maps for it.
const MOST_DECODED: u64 = 1 << 16;

pub(super) type Words = SmallVec<[Value; MAX_DIMS]>;

/// An access whose operands are new values.
pub(super) struct Tensor<'i> {
    pub(super) access: &'i TensorAccess,
    pub(super) operands: TensorOperands,
    pub(super) words: Vec<Value>,
    pub(super) m: MatType,
}

/// Where an element is in the tensor.
struct Target {
    block: Words,
    in_block: Words,
    /// Whether it is in the tensor; always, without a value.
    is_inside: Option<Value>,
}

impl Tensor<'_> {
    pub(super) fn dims(&self) -> usize {
        self.access.dims.into()
    }
}

impl Expand<'_> {
    fn tensor<'i>(&self, info: &InstInfo, access: &'i TensorAccess, m: MatType, first: usize) -> Tensor<'i> {
        let words = (first..info.args.len()).map(|i| self.arg(info, i)).collect();
        Tensor { access, operands: access.operands(), words, m }
    }

    pub(super) fn load_tensor(&mut self, info: &InstInfo, access: &TensorAccess, decode: Option<Block>) {
        let m = self.mat(info.results[0]);
        let object = access.clips().then(|| self.arg(info, 1));
        let t = self.tensor(info, access, m, 1 + usize::from(object.is_some()));
        let pointer = self.arg(info, 0);
        let result = match self.plain(&t).filter(|_| decode.is_none()) {
            None => match decode.and_then(|decode| self.load_components(info, &t, pointer, decode)) {
                Some(matrix) => matrix,
                None => self.load_elements(&t, pointer, decode, object),
            },
            Some((r, stride)) => {
                let op = Op::MatLoad { column_major: r.column_major, flags: access.flags };
                let at = self.corner(&t, pointer);
                let load = |this: &mut Self| this.b().value(op, &[at, stride], m.into());
                match self.is_inside(&t, None) {
                    None => load(self),
                    is_inside => {
                        let var = self.var(m);
                        self.choose(
                            is_inside,
                            |this| {
                                let matrix = load(this);
                                this.b().var_store(var, None, matrix);
                            },
                            |this| {
                                let matrix = this.load_elements(&t, pointer, None, object);
                                this.b().var_store(var, None, matrix);
                            },
                        );
                        self.b().var_load(var, None)
                    }
                }
            }
        };
        self.values[info.results[0].index()] = result;
    }

    /// Where the part of a tensor begins whose blocks are elements.
    fn corner(&mut self, t: &Tensor<'_>, pointer: Value) -> Value {
        let offsets: Words = (0..t.dims()).map(|d| t.words[t.operands.offset(d)]).collect();
        self.address(t, pointer, &offsets)
    }

    pub(super) fn store_tensor(&mut self, info: &InstInfo, mut access: TensorAccess) {
        let (pointer, matrix, m) = (self.arg(info, 0), self.arg(info, 1), self.mat(info.args[1]));
        // Whatever the mode, what is outside is not written.
        if access.clamp != Clamp::Undefined {
            access.clamp = Clamp::Constant;
        }
        let t = self.tensor(info, &access, m, 2);
        match self.plain(&t) {
            None => self.store_elements(&t, pointer, matrix),
            Some((r, stride)) => {
                let op = Op::MatStore { column_major: r.column_major, flags: access.flags };
                let at = self.corner(&t, pointer);
                let is_inside = self.is_inside(&t, None);
                self.choose(
                    is_inside,
                    |this| this.b().effect(op, &[at, matrix, stride]),
                    |this| this.store_elements(&t, pointer, matrix),
                );
            }
        }
    }

    /// A load as a map of the elements that stay where the view leaves some out.
    pub(super) fn load_map(
        &mut self,
        t: &Tensor<'_>,
        pointer: Value,
        decode: Option<Block>,
        object: Option<Value>,
    ) -> Value {
        let object = object.unwrap_or_else(|| {
            let zero = self.b().constant(t.m.elem, 0);
            self.b().value(Op::MatSplat, &[zero], t.m.into())
        });
        self.map_elements(t, object, |this, row, col, old| {
            let out = this.var(t.m.elem);
            this.b().var_store(out, None, old);
            this.load_element(t, pointer, decode, (row, col), out);
            this.b().var_load(out, None)
        })
    }

    /// Reads or decodes the element at a row and a column to a variable, unless the view leaves it out.
    pub(super) fn load_element(
        &mut self,
        t: &Tensor<'_>,
        pointer: Value,
        decode: Option<Block>,
        (row, col): (Value, Value),
        out: Var,
    ) {
        let e = self.number(t, row, col);
        let (index, is_unclipped) = self.matrix_index(t, e);
        self.when(is_unclipped, |this| {
            let target = this.target(t, index);
            this.choose(
                target.is_inside,
                |this| {
                    let x = this.element_of(t, pointer, decode, &target);
                    this.b().var_store(out, None, x);
                },
                |this| {
                    let x = this.clamp_value(t);
                    this.b().var_store(out, None, x);
                },
            );
        });
    }

    /// A map with a region that makes an element of its row, its column and what it was.
    pub(super) fn map_elements(
        &mut self,
        t: &Tensor<'_>,
        matrix: Value,
        region: impl FnOnce(&mut Self, Value, Value, Value) -> Value,
    ) -> Value {
        self.map_of(t, &[matrix], |this, params| region(this, params[0], params[1], params[2]))
    }

    /// A map of some matrices, with a region that makes an element of its parameters.
    pub(super) fn map_of(
        &mut self,
        t: &Tensor<'_>,
        matrices: &[Value],
        region: impl FnOnce(&mut Self, &[Value]) -> Value,
    ) -> Value {
        let body = self.new.new_block();
        self.within(body, |this| {
            let mut types = vec![Type::I32; 2];
            types.resize(2 + matrices.len(), t.m.elem.into());
            let params = this.b().push(Op::Params, &[], &types);
            let params = this.new.inst(params).results.clone();
            let x = region(this, &params);
            this.b().effect(Op::Yield, &[x]);
        });
        self.b().value(Op::MatMap { body }, matrices, t.m.into())
    }

    /// The row-major number of an element.
    fn number(&mut self, t: &Tensor<'_>, row: Value, col: Value) -> Value {
        let cols = self.int(t.m.cols);
        let first = self.binary(B::Imul, row, cols);
        self.b().binary(B::Iadd, first, col)
    }

    /// The element at a place in the tensor.
    fn element_of(
        &mut self,
        t: &Tensor<'_>,
        pointer: Value,
        decode: Option<Block>,
        target: &Target,
    ) -> Value {
        let at = self.address(t, pointer, &target.block);
        match decode {
            Some(decode) => {
                let params: SmallVec<[Value; 4]> =
                    [at].iter().chain(&target.block).chain(&target.in_block).copied().collect();
                self.inline(decode, &params)
            }
            None => self.b().value(Op::Load(t.access.flags), &[at], t.m.elem.into()),
        }
    }

    fn store_elements(&mut self, t: &Tensor<'_>, pointer: Value, matrix: Value) {
        if self.place.in_maps {
            self.map_elements(t, matrix, |this, row, col, x| {
                let e = this.number(t, row, col);
                this.store_element(t, pointer, e, |_| x);
                x
            });
            return;
        }
        let area = self.spill(matrix, t.m, false);
        self.settle();
        self.share(t.m.len() as u32, |this, e| {
            this.store_element(t, pointer, e, |this| this.read(area, e));
        });
    }

    fn store_element(
        &mut self,
        t: &Tensor<'_>,
        pointer: Value,
        e: Value,
        x: impl FnOnce(&mut Self) -> Value,
    ) {
        let (index, is_unclipped) = self.matrix_index(t, e);
        self.when(is_unclipped, |this| {
            let target = this.target(t, index);
            this.when(target.is_inside, |this| {
                let at = this.address(t, pointer, &target.block);
                let x = x(this);
                this.b().effect(Op::Store(t.access.flags), &[at, x]);
            });
        });
    }

    /// A matrix, element by element or run by run.
    fn load_elements(
        &mut self,
        t: &Tensor<'_>,
        pointer: Value,
        decode: Option<Block>,
        object: Option<Value>,
    ) -> Value {
        let m = t.m;
        let bytes = m.len() * u64::from(m.elem.bytes());
        let is_mapped = decode.is_none() || self.place.decodes_in_maps || bytes > MOST_DECODED;
        if self.place.in_maps && is_mapped {
            return match decode.and_then(|decode| Some((decode, self.rectangle(t)?))) {
                Some((decode, r)) => self.load_blocks(t, &r, pointer, decode),
                None => self.load_map(t, pointer, decode, object),
            };
        }
        let regular = decode.and_then(|_| self.regular(t));
        let column_major = regular.is_some_and(|r| r.column_major);
        let out = match object.filter(|_| self.clips(t)) {
            // Elements outside of the clip are there already.
            Some(object) => self.spill(object, m, column_major),
            None => self.area(m.elem, m.len()),
        };
        self.settle();
        match regular.zip(decode) {
            Some((r, decode)) => match self.is_regular(t, &r) {
                None => self.decode_lines(t, &r, pointer, decode, out),
                is_regular => self.choose(
                    is_regular,
                    |this| this.decode_lines(t, &r, pointer, decode, out),
                    |this| this.decode_elements(t, pointer, Some(decode), (out, column_major)),
                ),
            },
            None => self.decode_elements(t, pointer, decode, (out, column_major)),
        }
        self.settle();
        let side = if column_major { m.rows } else { m.cols };
        let stride = self.b().i64(i64::from(side) * i64::from(m.elem.bytes()));
        let op = Op::MatLoad { column_major, flags: MemFlags::default() };
        self.b().value(op, &[out.at, stride], m.into())
    }

    /// Reads or decodes element by element, whatever the layout is, to an area by rows or by columns.
    fn decode_elements(
        &mut self,
        t: &Tensor<'_>,
        pointer: Value,
        decode: Option<Block>,
        (out, column_major): (Area, bool),
    ) {
        self.share(t.m.len() as u32, |this, e| {
            let (index, is_unclipped) = this.matrix_index(t, e);
            let to = if column_major {
                let (row, col) = this.row_and_col(e, t.m.cols);
                let rows = this.int(t.m.rows);
                let first = this.b().binary(B::Imul, col, rows);
                this.b().binary(B::Iadd, first, row)
            } else {
                e
            };
            this.when(is_unclipped, |this| {
                let target = this.target(t, index);
                let inside = |this: &mut Self, target: &Target| {
                    let x = this.element_of(t, pointer, decode, target);
                    this.write(out, to, x);
                };
                let outside = |this: &mut Self| {
                    let x = this.clamp_value(t);
                    this.write(out, to, x);
                };
                this.choose(target.is_inside, |this| inside(this, &target), outside);
            });
        });
    }

    /// The element that the layout's clamp value is: its low bits.
    fn clamp_value(&mut self, t: &Tensor<'_>) -> Value {
        let (word, elem) = (t.words[t.operands.clamp_value()], t.m.elem);
        let int = Scalar::int(elem.bits()).unwrap_or(Scalar::I32);
        let bits = if int == Scalar::I32 { word } else { self.b().convert(ConvertKind::UToU, word, int) };
        if elem == int { bits } else { self.b().value(Op::Bitcast, &[bits], elem.into()) }
    }

    pub(super) fn address(&mut self, t: &Tensor<'_>, pointer: Value, block: &[Value]) -> Value {
        // Coordinates below 0, which only this mode leaves alone, stay near.
        let extend = match t.access.clamp {
            Clamp::Undefined => ConvertKind::SToS,
            _ => ConvertKind::UToU,
        };
        let mut index = None;
        for (d, &c) in block.iter().enumerate() {
            let c = self.b().convert(extend, c, Scalar::I64);
            let stride = t.words[t.operands.stride(d)];
            let c = match self.known(stride) {
                Some(1) => c,
                _ => {
                    let stride = self.b().convert(ConvertKind::UToU, stride, Scalar::I64);
                    self.b().binary(B::Imul, c, stride)
                }
            };
            index = Some(index.map_or(c, |sum| self.b().binary(B::Iadd, sum, c)));
        }
        let Some(index) = index else { return pointer };
        self.b().ptr_add(pointer, Some(index), t.access.unit.into(), 0)
    }

    // ── coordinates ──

    /// Offset and span of a clip, for rows or columns, if it can leave out any of `side`.
    fn clip(&self, t: &Tensor<'_>, axis: usize, side: u32) -> Option<(Value, Value)> {
        if !t.access.clips() {
            return None;
        }
        let clip = t.operands.clip();
        let (offset, span) = (t.words[clip[2 * axis]], t.words[clip[2 * axis + 1]]);
        let is_all = self.known(offset) == Some(0) && self.known(span).is_some_and(|span| span >= side);
        (!is_all).then_some((offset, span))
    }

    pub(super) fn clips(&self, t: &Tensor<'_>) -> bool {
        self.clip(t, 0, t.m.rows).is_some() || self.clip(t, 1, t.m.cols).is_some()
    }

    /// The index that the view or the span takes apart, and whether the element is in the clip.
    fn matrix_index(&mut self, t: &Tensor<'_>, e: Value) -> (Value, Option<Value>) {
        if !self.clips(t) {
            return (e, None);
        }
        let (mut row, mut col) = self.row_and_col(e, t.m.cols);
        let mut width = self.int(t.m.cols);
        let mut is_inside = None;
        if let Some((offset, span)) = self.clip(t, 0, t.m.rows) {
            is_inside = Some(self.in_range(row, offset, span));
            row = self.binary(B::Isub, row, offset);
        }
        if let Some((offset, span)) = self.clip(t, 1, t.m.cols) {
            let here = self.in_range(col, offset, span);
            is_inside = self.both(is_inside, Some(here));
            col = self.binary(B::Isub, col, offset);
            width = self.b().binary(B::Umin, width, span);
        }
        let first = self.b().binary(B::Imul, row, width);
        (self.b().binary(B::Iadd, first, col), is_inside)
    }

    /// `offset <= x < offset + span`, where the sum may wrap.
    fn in_range(&mut self, x: Value, offset: Value, span: Value) -> Value {
        let end = self.binary(B::Iadd, offset, span);
        let lower = self.b().compare(C::Ule, offset, x);
        let upper = self.b().compare(C::Ult, x, end);
        self.b().binary(B::And, lower, upper)
    }

    /// Takes an index apart: coordinate `order[i]`, of `sizes[order[i]]`, for each place from the last.
    /// `below` bounds the index where it is known to: then the first place needs no remainder.
    fn take_apart(&mut self, index: Value, sizes: &[Value], order: &[usize], below: Option<u64>) -> Words {
        let mut coords: Words = SmallVec::from_slice(sizes);
        let mut rest = index;
        let known = sizes.iter().try_fold(1_u64, |all, &s| all.checked_mul(self.known(s)?.into()));
        let is_whole = below.zip(known).is_some_and(|(below, all)| below <= all);
        for (place, &d) in order.iter().enumerate().rev() {
            if place == 0 && is_whole {
                coords[d] = rest;
            } else {
                coords[d] = self.b().binary(B::Umod, rest, sizes[d]);
            }
            if place > 0 {
                rest = self.binary(B::Udiv, rest, sizes[d]);
            }
        }
        coords
    }

    fn target(&mut self, t: &Tensor<'_>, index: Value) -> Target {
        let spans: Words = (0..t.dims()).map(|d| t.words[t.operands.span(d)]).collect();
        // The index only grows beyond the matrix through a view.
        let below = t.access.view.is_none().then_some(t.m.len());
        let index = match &t.access.view {
            Some(view) => self.through_view(t, view, index, &spans),
            None => index,
        };
        let order: SmallVec<[usize; MAX_DIMS]> = (0..t.dims()).collect();
        let coords = self.take_apart(index, &spans, &order, below);
        let mut target = Target { block: Words::new(), in_block: Words::new(), is_inside: None };
        for (d, c) in coords.into_iter().enumerate() {
            let c = self.binary(B::Iadd, c, t.words[t.operands.offset(d)]);
            let (c, is_inside) = self.clamp(t, d, c);
            target.is_inside = self.both(target.is_inside, is_inside);
            let size = t.words[t.operands.block(d)];
            if self.known(size) == Some(1) {
                target.block.push(c);
                target.in_block.push(self.int(0));
            } else {
                target.block.push(self.b().binary(B::Udiv, c, size));
                target.in_block.push(self.b().binary(B::Umod, c, size));
            }
        }
        target
    }

    /// An index of the view as an index of the span.
    fn through_view(&mut self, t: &Tensor<'_>, view: &TensorView, index: Value, spans: &[Value]) -> Value {
        let dims = usize::from(view.dims);
        let (mut sizes, mut strides) = (Words::new(), Words::new());
        if view.has_dimensions {
            sizes.extend((0..dims).map(|d| t.words[t.operands.view_dimension(d)]));
            strides.extend((0..dims).map(|d| t.words[t.operands.view_stride(d)]));
        } else {
            sizes.extend_from_slice(&spans[..dims]);
            let mut stride = self.int(1);
            strides = sizes.clone();
            for d in (0..dims).rev() {
                strides[d] = stride;
                stride = self.binary(B::Imul, sizes[d], stride);
            }
        }
        let order: SmallVec<[usize; MAX_DIMS]> =
            view.permutation[..dims].iter().map(|&p| usize::from(p)).collect();
        let coords = self.take_apart(index, &sizes, &order, Some(t.m.len()));
        let mut sum = None;
        for (c, stride) in coords.into_iter().zip(strides) {
            let c = self.binary(B::Imul, c, stride);
            sum = Some(sum.map_or(c, |sum| self.b().binary(B::Iadd, sum, c)));
        }
        sum.unwrap_or(index)
    }

    /// A coordinate in the tensor; and whether it was there before, where that matters.
    fn clamp(&mut self, t: &Tensor<'_>, d: usize, c: Value) -> (Value, Option<Value>) {
        let size = t.words[t.operands.dimension(d)];
        match t.access.clamp {
            Clamp::Undefined => (c, None),
            // As unsigned numbers, negative ones are beyond every size.
            Clamp::Constant => (c, Some(self.b().compare(C::Ult, c, size))),
            Clamp::ClampToEdge => {
                let (zero, one) = (self.int(0), self.int(1));
                let last = self.binary(B::Isub, size, one);
                let inside = self.b().compare(C::Ult, c, size);
                let low = self.b().binary(B::Smax, c, zero);
                let near = self.b().binary(B::Smin, low, last);
                (self.b().select(inside, c, near), None)
            }
            Clamp::Repeat => {
                let inside = self.b().compare(C::Ult, c, size);
                let near = self.b().binary(B::Smod, c, size);
                (self.b().select(inside, c, near), None)
            }
            Clamp::RepeatMirrored => {
                let two = self.int(2);
                let inside = self.b().compare(C::Ult, c, size);
                let twice = self.b().binary(B::Imul, size, two);
                let period = self.b().binary(B::Isub, twice, two);
                let near = self.b().binary(B::Smod, c, period);
                let mirrored = self.b().binary(B::Isub, period, near);
                let is_far = self.b().compare(C::Sle, size, near);
                let near = self.b().select(is_far, mirrored, near);
                (self.b().select(inside, c, near), None)
            }
        }
    }
}
