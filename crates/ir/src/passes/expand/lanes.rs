//! Rows or columns of a matrix, made of scalars of the invocations, and the reverse.
//!
//! Element `i` of the line of invocation `l` lies at `i * lanes + l`: what consecutive invocations have
//! is consecutive in memory. Rows are thus a column-major matrix, columns a row-major one, and the
//! matrix is turned where it is loaded, by the target's own means.

use super::{Area, Expand};
use crate::entities::Value;
use crate::module::InstInfo;
use crate::op::{BinaryOp, ConvertKind, MemFlags, Op};
use crate::types::{MatType, Scalar};
use smallvec::SmallVec;

impl Expand<'_> {
    pub(super) fn mat_from_lanes(&mut self, info: &InstInfo, columns: bool) {
        let m = self.mat(info.results[0]);
        let area = self.line_area(m, columns);
        // What was there before has been read.
        self.settle();
        let mut place = 0;
        for i in 0..info.args.len() {
            let scalar = self.arg(info, i);
            for element in self.split(scalar, m.elem) {
                let at = self.line_place(area, place);
                self.b().effect(Op::Store(MemFlags::default()), &[at, element]);
                place += 1;
            }
        }
        self.settle();
        let stride = self.line_stride(m);
        self.fill_strided(info, m, area, stride, !columns);
    }

    pub(super) fn mat_to_lanes(&mut self, info: &InstInfo, columns: bool) {
        let m = self.mat(info.args[0]);
        let area = self.line_area(m, columns);
        let (matrix, stride) = (self.arg(info, 0), self.line_stride(m));
        let stride = self.b().i64(stride);
        let op = Op::MatStore { column_major: !columns, flags: MemFlags::default() };
        self.settle();
        self.b().effect(op, &[area.at, matrix, stride]);
        self.settle();
        let whole = self.old.ty(info.results[0]).scalar().unwrap_or(m.elem);
        let parts = (whole.bits() / m.elem.bits()) as usize;
        for (i, result) in info.results.iter().enumerate() {
            let elements: SmallVec<[Value; 8]> = (0..parts)
                .map(|part| {
                    let at = self.line_place(area, i * parts + part);
                    self.b().value(Op::Load(MemFlags::default()), &[at], m.elem.into())
                })
                .collect();
            let scalar = self.join(&elements, m.elem, whole);
            self.values[result.index()] = scalar;
        }
    }

    /// An area for the lines of all invocations, also of those that have none.
    fn line_area(&mut self, m: MatType, columns: bool) -> Area {
        let (_, len) = m.lines(columns);
        self.area(m.elem, u64::from(len) * u64::from(self.module.subgroup_size))
    }

    /// Bytes from an element of a line to the next.
    fn line_stride(&self, m: MatType) -> i64 {
        i64::from(self.module.subgroup_size) * i64::from(m.elem.bytes())
    }

    /// Where this invocation's element `i` is.
    fn line_place(&mut self, area: Area, i: usize) -> Value {
        let (lane, bytes) = (self.lane, i64::from(area.elem.bytes()));
        let disp = i as i64 * i64::from(self.module.subgroup_size) * bytes;
        self.b().ptr_add(area.at, Some(lane), bytes, disp)
    }

    /// The elements that a scalar is in memory.
    fn split(&mut self, scalar: Value, elem: Scalar) -> SmallVec<[Value; 8]> {
        let from = self.new.ty(scalar).scalar().unwrap_or(elem);
        let (Some(whole), Some(part)) = (Scalar::int(from.bits()), Scalar::int(elem.bits())) else {
            return SmallVec::from_slice(&[scalar]);
        };
        if whole == part {
            return SmallVec::from_slice(&[self.recast(scalar, elem)]);
        }
        let bits = self.recast(scalar, whole);
        (0..whole.bits() / part.bits())
            .map(|i| {
                let count = self.b().constant(whole, u64::from(i * part.bits()));
                let bits = if i == 0 { bits } else { self.b().binary(BinaryOp::Lshr, bits, count) };
                let bits = self.b().convert(ConvertKind::UToU, bits, part);
                self.recast(bits, elem)
            })
            .collect()
    }

    /// The scalar that elements are in memory.
    fn join(&mut self, elements: &[Value], elem: Scalar, to: Scalar) -> Value {
        let (Some(whole), Some(part)) = (Scalar::int(to.bits()), Scalar::int(elem.bits())) else {
            return elements[0];
        };
        if whole == part {
            return self.recast(elements[0], to);
        }
        let mut bits = None;
        for (i, &element) in (0..).zip(elements) {
            let element = self.recast(element, part);
            let element = self.b().convert(ConvertKind::UToU, element, whole);
            bits = Some(match bits {
                None => element,
                Some(below) => {
                    let count = self.b().constant(whole, i * u64::from(part.bits()));
                    let above = self.b().binary(BinaryOp::Shl, element, count);
                    self.b().binary(BinaryOp::Or, below, above)
                }
            });
        }
        let bits = bits.unwrap_or(elements[0]);
        self.recast(bits, to)
    }

    /// The same bits in another type of the same width.
    fn recast(&mut self, x: Value, to: Scalar) -> Value {
        if self.new.ty(x) == to.into() { x } else { self.b().value(Op::Bitcast, &[x], to.into()) }
    }
}
