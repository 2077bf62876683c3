//! Integer dot products (SPV_KHR_integer_dot_product, in SPIR-V 1.6).
//!
//! Components are extended to the result type first. The lower bits of a sum do not depend on the
//! width it is computed in, so the result is the one SPIR-V asks for: the low bits of the exact sum.

use super::componentwise::{self as cw, Class};
use crate::cx::{Cx, Values};
use crate::diag::{Res, code, operand, unsupported};
use crate::reader::{Id, Inst};
use crate::types::Kind;
use phalanx_ir::{BinaryOp as B, CompareOp as C, ConvertKind, Scalar, Value};
use spirv::Op;

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (signs, accumulates) = match inst.op {
        Op::SDot => ((true, true), false),
        Op::UDot => ((false, false), false),
        Op::SUDot => ((true, false), false),
        Op::SDotAccSat => ((true, true), true),
        Op::UDotAccSat => ((false, false), true),
        Op::SUDotAccSat => ((true, false), true),
        _ => return Err(unsupported(code::OPCODE, format!("{} is not supported", inst.name()))),
    };
    let to = cw::result_scalar(cx, inst, Class::Int)?;
    let packed = inst.args.get(if accumulates { 3 } else { 2 }).copied();
    if packed == Some(0)
        && to == Scalar::I32
        && let Some([x, y]) = words(cx, inst)?
    {
        let op = match signs {
            (true, true) => B::Sdot4,
            (true, false) => B::Sudot4,
            _ => B::Udot4,
        };
        let sum = cx.b().binary(op, x, y);
        return finish(cx, inst, sum, to, signs.0, accumulates);
    }
    let x = factors(cx, inst.arg(0)?, packed, to, signs.0)?;
    let y = factors(cx, inst.arg(1)?, packed, to, signs.1)?;
    cw::expect_as_many(&x, &y)?;
    let mut sum: Option<Value> = None;
    for (&x, &y) in x.iter().zip(&y) {
        let product = cx.b().binary(B::Imul, x, y);
        sum = Some(match sum {
            None => product,
            Some(sum) => cx.b().binary(B::Iadd, sum, product),
        });
    }
    let sum = sum.ok_or_else(|| operand("expected vectors, found no components"))?;
    finish(cx, inst, sum, to, signs.0, accumulates)
}

/// Adds what is accumulated, and defines the result.
fn finish(
    cx: &mut Cx<'_>,
    inst: &Inst<'_>,
    sum: Value,
    to: Scalar,
    signed: bool,
    accumulates: bool,
) -> Res<()> {
    let mut out = sum;
    if accumulates {
        let acc = cx.scalar(inst.arg(2)?, to)?;
        out = add_saturating(cx, out, acc, to, signed);
    }
    cx.define_values(inst, &[out])
}

/// Both operands, if they are words that hold four bytes each.
fn words(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<Option<[Value; 2]>> {
    let mut found = [None; 2];
    for (n, word) in found.iter_mut().enumerate() {
        let id = inst.arg(n)?;
        let x = cw::components(cx, id, Class::Int)?;
        let is_vector = matches!(cx.types().kind(cx.ty_of(id)?), Kind::Vector { .. });
        let is_word = !is_vector && cw::scalar_ty(cx, x[0])? == Scalar::I32;
        *word = is_word.then_some(x[0]);
    }
    Ok(found[0].zip(found[1]).map(|(x, y)| [x, y]))
}

/// The components of an operand, extended to the result type.
fn factors(cx: &mut Cx<'_>, id: Id, packed: Option<u32>, to: Scalar, signed: bool) -> Res<Values> {
    let x = cw::components(cx, id, Class::Int)?;
    let from = cw::scalar_ty(cx, x[0])?;
    let is_vector = matches!(cx.types().kind(cx.ty_of(id)?), Kind::Vector { .. });
    let x = match packed {
        None if is_vector => x,
        Some(0) if !is_vector && from == Scalar::I32 => unpack(cx, x[0]),
        // A vector may carry the format operand only by mistake, and a scalar must carry it.
        Some(0) => return Err(operand(format!("operand %{id} must be an integer of 32 bits"))),
        Some(format) => return Err(operand(format!("unknown packed vector format {format}"))),
        None => return Err(operand(format!("operand %{id} is a scalar without a packed vector format"))),
    };
    let from = cw::scalar_ty(cx, x[0])?;
    if from.bits() > to.bits() {
        return Err(operand(format!("the result type {to} is narrower than the components of %{id}")));
    }
    Ok(cw::map(&x, |x| cw::resize(cx, x, to, signed)))
}

/// The four bytes of *PackedVectorFormat4x8Bit*, the least significant first.
fn unpack(cx: &mut Cx<'_>, x: Value) -> Values {
    (0..4)
        .map(|i| {
            let count = cx.i32(8 * i);
            let shifted = if i == 0 { x } else { cx.b().binary(B::Lshr, x, count) };
            cx.b().convert(ConvertKind::UToU, shifted, Scalar::I8)
        })
        .collect()
}

/// The sum, or the limit that it passes.
fn add_saturating(cx: &mut Cx<'_>, x: Value, y: Value, ty: Scalar, signed: bool) -> Value {
    let sum = cx.b().binary(B::Iadd, x, y);
    if !signed {
        let max = cx.constant(ty, u64::MAX);
        let overflow = cx.b().compare(C::Ult, sum, x);
        return cx.b().select(overflow, max, sum);
    }
    // It overflows where both operands have another sign than the sum, towards the operands' sign.
    let (zero, max) = (cx.constant(ty, 0), cx.constant(ty, ty.mask() >> 1));
    let last = cx.i32(ty.bits() as i32 - 1);
    let (dx, dy) = (cx.b().binary(B::Xor, x, sum), cx.b().binary(B::Xor, y, sum));
    let both = cx.b().binary(B::And, dx, dy);
    let overflow = cx.b().compare(C::Slt, both, zero);
    let sign = cx.b().binary(B::Ashr, x, last);
    let limit = cx.b().binary(B::Xor, sign, max);
    cx.b().select(overflow, limit, sum)
}
