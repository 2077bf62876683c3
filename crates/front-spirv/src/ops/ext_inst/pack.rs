//! Several small numbers in one word, the first component in the low bits.

use super::{Glsl, clamp_to};
use crate::cx::{Cx, Values};
use crate::diag::Res;
use crate::ops::componentwise::{self as cw, Class};
use crate::ops::convert::regroup;
use phalanx_ir::{self as ir, BinaryOp as B, ConvertKind, Scalar, UnaryOp as U, Value};
use spirv::GlslStd450Op as G;

/// How a packed integer stands for a number: the number of integers in a word, their type, what 1.0
/// is, and whether they have a sign.
struct Norm {
    count: usize,
    part: Scalar,
    one: f64,
    signed: bool,
}

impl Norm {
    fn of(op: G) -> Option<Self> {
        let norm = |count, part, one, signed| Some(Self { count, part, one, signed });
        match op {
            G::PackSnorm4x8 | G::UnpackSnorm4x8 => norm(4, Scalar::I8, 127.0, true),
            G::PackUnorm4x8 | G::UnpackUnorm4x8 => norm(4, Scalar::I8, 255.0, false),
            G::PackSnorm2x16 | G::UnpackSnorm2x16 => norm(2, Scalar::I16, 32767.0, true),
            G::PackUnorm2x16 | G::UnpackUnorm2x16 => norm(2, Scalar::I16, 65535.0, false),
            _ => None,
        }
    }
}

/// Translates a *Pack…* instruction.
pub(super) fn pack(cx: &mut Cx<'_>, g: Glsl<'_, '_>) -> Res<()> {
    let id = g.arg(0)?;
    let out = match (g.op, Norm::of(g.op)) {
        (_, Some(norm)) => {
            let x = cw::vector(cx, id, Class::Float, norm.count)?;
            cx.expect(id, x[0], ir::Type::F32)?;
            let parts = cw::map(&x, |x| to_norm(cx, &norm, x));
            regroup(cx, &parts, Scalar::I32)?
        }
        (G::PackHalf2x16, None) => {
            let x = cw::vector(cx, id, Class::Float, 2)?;
            cx.expect(id, x[0], ir::Type::F32)?;
            let halves = cw::map(&x, |x| cw::refloat(cx, x, Scalar::F16));
            regroup(cx, &halves, Scalar::I32)?
        }
        _ => {
            let x = cw::vector(cx, id, Class::Int, 2)?;
            cx.expect(id, x[0], ir::Type::I32)?;
            regroup(cx, &x, Scalar::F64)?
        }
    };
    cx.define_values(g.inst, &out)
}

/// `round(clamp(x, -1 or 0, 1) * one)`.
fn to_norm(cx: &mut Cx<'_>, norm: &Norm, x: Value) -> Value {
    let low = cw::float(cx, Scalar::F32, if norm.signed { -1.0 } else { 0.0 });
    let high = cw::float(cx, Scalar::F32, 1.0);
    let one = cw::float(cx, Scalar::F32, norm.one);
    let x = clamp_to(cx, x, low, high);
    let x = cx.b().binary(B::Fmul, x, one);
    let x = cx.b().unary(U::RoundEven, x);
    let x = cx.b().convert(ConvertKind::FToS, x, Scalar::I32);
    cx.b().convert(ConvertKind::SToS, x, norm.part)
}

/// Translates an *Unpack…* instruction.
pub(super) fn unpack(cx: &mut Cx<'_>, g: Glsl<'_, '_>) -> Res<()> {
    let id = g.arg(0)?;
    let out: Values = match (g.op, Norm::of(g.op)) {
        (_, Some(norm)) => {
            let word = cx.scalar(id, Scalar::I32)?;
            let parts = regroup(cx, &[word], norm.part)?;
            cw::map(&parts, |x| from_norm(cx, &norm, x))
        }
        (G::UnpackHalf2x16, None) => {
            let word = cx.scalar(id, Scalar::I32)?;
            let mut halves = regroup(cx, &[word], Scalar::F16)?;
            cx.flush_parts(&mut halves);
            cw::map(&halves, |x| cw::refloat(cx, x, Scalar::F32))
        }
        _ => {
            let word = cx.scalar(id, Scalar::F64)?;
            regroup(cx, &[word], Scalar::I32)?
        }
    };
    cx.define_values(g.inst, &out)
}

/// `clamp(x / one, -1, 1)`; only the least signed integer needs the clamp.
fn from_norm(cx: &mut Cx<'_>, norm: &Norm, x: Value) -> Value {
    let kind = if norm.signed { ConvertKind::SToF } else { ConvertKind::UToF };
    let x = cx.b().convert(kind, x, Scalar::F32);
    let one = cw::float(cx, Scalar::F32, norm.one);
    let x = cx.b().binary(B::Fdiv, x, one);
    if !norm.signed {
        return x;
    }
    let low = cw::float(cx, Scalar::F32, -1.0);
    cx.b().binary(B::Fmax, x, low)
}
