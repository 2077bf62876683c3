//! Bit fields and counts.
//!
//! Offset and count are scalars of any integer type; the result is undefined when they reach beyond
//! the width (SPIR-V 3.52.15), and ours wraps then. Shift counts of the IR are taken modulo the
//! width, so a count of 0 or of the whole width needs care.

use crate::cx::{Cx, Values};
use crate::diag::Res;
use crate::ops::componentwise::{self as cw, Class};
use crate::reader::Inst;
use phalanx_ir::{BinaryOp as B, CompareOp as C, Scalar, UnaryOp as U, Value};
use spirv::Op;

/// Translates an instruction on bit fields, or a count of bits.
pub(super) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match inst.op {
        Op::BitFieldInsert => insert(cx, inst),
        Op::BitFieldSExtract => extract_signed(cx, inst),
        Op::BitFieldUExtract => extract_unsigned(cx, inst),
        _ => count(cx, inst),
    }
}

/// A bit field, in the type that holds it.
struct Field {
    ty: Scalar,
    offset: Value,
    count: Value,
}

impl Field {
    fn read(cx: &mut Cx<'_>, inst: &Inst<'_>, of: Value, first: usize) -> Res<Self> {
        let ty = cw::scalar_ty(cx, of)?;
        let offset = cw::scalar(cx, inst.arg(first)?, Class::Int)?;
        let count = cw::scalar(cx, inst.arg(first + 1)?, Class::Int)?;
        let (offset, count) = (cw::resize(cx, offset, ty, false), cw::resize(cx, count, ty, false));
        Ok(Self { ty, offset, count })
    }

    /// As many ones in the low bits as the field has.
    fn mask(&self, cx: &mut Cx<'_>) -> Value {
        let (one, ones) = (cx.constant(self.ty, 1), cx.constant(self.ty, u64::MAX));
        let width = cx.constant(self.ty, self.ty.bits().into());
        let power = cx.b().binary(B::Shl, one, self.count);
        let mask = cx.b().binary(B::Isub, power, one);
        let whole = cx.b().compare(C::Ule, width, self.count);
        cx.b().select(whole, ones, mask)
    }
}

fn insert(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let base = cw::components(cx, inst.arg(0)?, Class::Int)?;
    let insert = cw::components(cx, inst.arg(1)?, Class::Int)?;
    cw::expect_alike(cx, &base, &insert)?;
    let field = Field::read(cx, inst, base[0], 2)?;
    let mask = field.mask(cx);
    let hole = cx.b().binary(B::Shl, mask, field.offset);
    let keep = cx.b().unary(U::Not, hole);
    let out = cw::zip(&base, &insert, |base, insert| {
        let base = cx.b().binary(B::And, base, keep);
        let insert = cx.b().binary(B::And, insert, mask);
        let insert = cx.b().binary(B::Shl, insert, field.offset);
        cx.b().binary(B::Or, base, insert)
    });
    cx.define_values(inst, &out)
}

fn extract_unsigned(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let base = cw::components(cx, inst.arg(0)?, Class::Int)?;
    let field = Field::read(cx, inst, base[0], 1)?;
    let mask = field.mask(cx);
    let out = cw::map(&base, |x| {
        let x = cx.b().binary(B::Lshr, x, field.offset);
        cx.b().binary(B::And, x, mask)
    });
    cx.define_values(inst, &out)
}

/// Shifts the field to the upper end and back; an empty field is 0.
fn extract_signed(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let base = cw::components(cx, inst.arg(0)?, Class::Int)?;
    let field = Field::read(cx, inst, base[0], 1)?;
    let zero = cx.constant(field.ty, 0);
    let width = cx.constant(field.ty, field.ty.bits().into());
    let right = cx.b().binary(B::Isub, width, field.count);
    let left = cx.b().binary(B::Isub, right, field.offset);
    let empty = cx.b().compare(C::Ieq, field.count, zero);
    let out = cw::map(&base, |x| {
        let x = cx.b().binary(B::Shl, x, left);
        let x = cx.b().binary(B::Ashr, x, right);
        cx.b().select(empty, zero, x)
    });
    cx.define_values(inst, &out)
}

/// *OpBitCount*, whose result may have another width than its operand.
fn count(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let base = cw::components(cx, inst.arg(0)?, Class::Int)?;
    let to = cw::result_scalar(cx, inst, Class::Int)?;
    let mut out = Values::new();
    for x in base {
        let n = cx.b().unary(U::BitCount, x);
        out.push(cw::resize(cx, n, to, false));
    }
    cx.define_values(inst, &out)
}
