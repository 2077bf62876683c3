//! Numbers taken apart: *Modf*, *Frexp*, and *Ldexp*, which puts them together.
//!
//! The forms with a pointer store the second result through it; the others return a structure.

use super::Glsl;
use crate::cx::{Cx, Values};
use crate::diag::{Res, operand};
use crate::ops::arith::FloatFormat;
use crate::ops::componentwise::{self as cw, Class};
use phalanx_ir::{self as ir, BinaryOp as B, CompareOp as C, MemFlags, Scalar, UnaryOp as U, Value};
use spirv::GlslStd450Op as G;

/// Translates an instruction of this kind.
pub(super) fn emit(cx: &mut Cx<'_>, g: Glsl<'_, '_>) -> Res<()> {
    let x = g.operand(cx, 0, Class::Float)?;
    if g.op == G::Ldexp {
        return ldexp(cx, g, &x);
    }
    let (mut first, mut second) = (Values::new(), Values::new());
    for &x in &x {
        let (a, b) = match g.op {
            G::Modf | G::ModfStruct => modf(cx, x)?,
            _ => frexp(cx, x)?,
        };
        first.push(a);
        second.push(b);
    }
    if matches!(g.op, G::Modf | G::Frexp) {
        store(cx, g, &second)?;
        return cx.define_values(g.inst, &first);
    }
    if g.op == G::FrexpStruct {
        second = exponents(cx, g, second)?;
    }
    first.extend(second);
    cx.define_values(g.inst, &first)
}

/// Stores the second result through the pointer that is operand 1.
fn store(cx: &mut Cx<'_>, g: Glsl<'_, '_>, second: &[Value]) -> Res<()> {
    let id = g.arg(1)?;
    let pointer = cx.pointer(id)?;
    let ty = cx.pointee(&pointer).ok_or_else(|| {
        operand(format!("operand %{id} must be a pointer with a type, to a scalar or vector"))
    })?;
    let scalar = cx.types().scalar(ty).filter(|_| cx.types().lanes(ty).is_some());
    let second = match scalar {
        Some(to) if to.is_int() && g.op == G::Frexp => cw::map(second, |e| cw::resize(cx, e, to, true)),
        _ => Values::from_slice(second),
    };
    let val = cx.unflatten(ty, &second)?;
    cx.store(&pointer, ty, &val, MemFlags::default())
}

/// The exponents in the integer type that the result structure has for them.
fn exponents(cx: &mut Cx<'_>, g: Glsl<'_, '_>, exponents: Values) -> Res<Values> {
    let ty = cx.result_ty(g.inst)?;
    let member = match cx.types().kind(ty) {
        crate::types::Kind::Struct(members) => members.get(1).and_then(|m| cx.types().scalar(*m)),
        _ => None,
    };
    let to = member.filter(|s| s.is_int()).ok_or_else(|| {
        let found = cx.types().describe(ty);
        operand(format!("the result type is {found}, expected a structure with integers second"))
    })?;
    Ok(cw::map(&exponents, |e| cw::resize(cx, e, to, true)))
}

/// The fraction and the whole part, both with the sign of `x`. An infinity has no fraction.
fn modf(cx: &mut Cx<'_>, x: Value) -> Res<(Value, Value)> {
    let ty = cw::scalar_ty(cx, x)?;
    let zero = cw::float(cx, ty, 0.0);
    let whole = cx.b().unary(U::Trunc, x);
    let difference = cx.b().binary(B::Fsub, x, whole);
    let infinite = cx.b().unary(U::IsInf, x);
    let fraction = cx.b().select(infinite, zero, difference);
    Ok((with_sign(cx, fraction, x)?, whole))
}

/// `value` with the sign of `x`.
fn with_sign(cx: &mut Cx<'_>, value: Value, x: Value) -> Res<Value> {
    let ty = cw::scalar_ty(cx, x)?;
    let int = FloatFormat::of(cx, x)?.int;
    let sign = cx.constant(int, 1 << (ty.bits() - 1));
    let bits = cx.b().value(ir::Op::Bitcast, &[x], int.into());
    let bits = cx.b().binary(B::And, bits, sign);
    let magnitude = cx.b().unary(U::Fabs, value);
    let magnitude = cx.b().value(ir::Op::Bitcast, &[magnitude], int.into());
    let bits = cx.b().binary(B::Or, magnitude, bits);
    Ok(cx.b().value(ir::Op::Bitcast, &[bits], ty.into()))
}

/// The significand, in [0.5, 1), and the exponent as `i32`. Zero, infinities and NaN are their own
/// significands, with the exponent 0.
///
/// A denormal is first scaled to a normal number, whose bits then are what we look for.
fn frexp(cx: &mut Cx<'_>, x: Value) -> Res<(Value, Value)> {
    let ty = cw::scalar_ty(cx, x)?;
    let format = FloatFormat::of(cx, x)?;
    let (int, bias) = (format.int, format.bias as i32);
    let shift = format.mantissa as i32 + 1;
    let least = cx.constant(ty, format.least_normal());
    let scale = cw::float(cx, ty, 2_f64.powi(shift));
    let abs = cx.b().unary(U::Fabs, x);
    let denormal = cx.b().compare(C::FordLt, abs, least);
    let scaled = cx.b().binary(B::Fmul, x, scale);
    let scaled = cx.b().select(denormal, scaled, x);
    let bits = cx.b().value(ir::Op::Bitcast, &[scaled], int.into());

    // Exponent field of the bits; all ones for infinities and NaN, zero only for zeros now.
    let mantissa = cx.i32(format.mantissa as i32);
    let ones = cx.constant(int, format.infinity());
    let field = cx.b().binary(B::And, bits, ones);
    let exponent = cx.b().binary(B::Lshr, field, mantissa);
    let exponent = cw::resize(cx, exponent, Scalar::I32, false);
    let normal_offset = cx.i32(bias - 1);
    let denormal_offset = cx.i32(bias - 1 + shift);
    let offset = cx.b().select(denormal, denormal_offset, normal_offset);
    let exponent = cx.b().binary(B::Isub, exponent, offset);

    let half = cx.constant(int, ((bias - 1) as u64) << format.mantissa);
    let rest = cx.constant(int, !format.infinity());
    let significand = cx.b().binary(B::And, bits, rest);
    let significand = cx.b().binary(B::Or, significand, half);
    let significand = cx.b().value(ir::Op::Bitcast, &[significand], ty.into());

    let (zero, none) = (cx.constant(int, 0), cx.i32(0));
    let is_zero = cx.b().compare(C::Ieq, field, zero);
    let is_special = cx.b().compare(C::Ieq, field, ones);
    let own = cx.b().binary(B::Or, is_zero, is_special);
    Ok((cx.b().select(own, x, significand), cx.b().select(own, none, exponent)))
}

/// `x * 2^exp`.
fn ldexp(cx: &mut Cx<'_>, g: Glsl<'_, '_>, x: &[Value]) -> Res<()> {
    let e = cw::components(cx, g.arg(1)?, Class::Int)?;
    cw::expect_as_many(x, &e)?;
    let out = cw::zip(x, &e, |x, e| {
        let e = exponent_i32(cx, e);
        cx.b().binary(B::Ldexp, x, e)
    });
    cx.define_values(g.inst, &out)
}

/// An exponent as `i32`. A wider one is limited first: beyond 2^31 it means the same.
fn exponent_i32(cx: &mut Cx<'_>, e: Value) -> Value {
    if cx.func.ty(e) != ir::Type::I64 {
        return cw::resize(cx, e, Scalar::I32, true);
    }
    let (low, high) = (cx.i64(i32::MIN.into()), cx.i64(i32::MAX.into()));
    let e = cx.b().binary(B::Smax, e, low);
    let e = cx.b().binary(B::Smin, e, high);
    cw::resize(cx, e, Scalar::I32, true)
}
