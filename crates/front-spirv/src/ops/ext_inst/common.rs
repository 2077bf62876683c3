//! Angles, interpolation, thresholds, and the search for bits.

use super::{Glsl, clamp_to};
use crate::cx::{Cx, Values};
use crate::diag::Res;
use crate::ops::arith::fused;
use crate::ops::componentwise::{self as cw, Class};
use phalanx_ir::{BinaryOp as B, CompareOp as C, Scalar, UnaryOp as U, Value};
use spirv::GlslStd450Op as G;

/// Translates an instruction whose components are computed by a short formula.
pub(super) fn emit(cx: &mut Cx<'_>, g: Glsl<'_, '_>) -> Res<()> {
    let x = g.operand(cx, 0, Class::Float)?;
    let ty = cw::scalar_ty(cx, x[0])?;
    let out = match g.op {
        G::Radians => scaled(cx, &x, ty, std::f64::consts::PI / 180.0),
        G::Degrees => scaled(cx, &x, ty, 180.0 / std::f64::consts::PI),
        G::Step => {
            let y = g.operand(cx, 1, Class::Float)?;
            let (zero, one) = (cw::float(cx, ty, 0.0), cw::float(cx, ty, 1.0));
            cw::zip(&x, &y, |edge, x| {
                let below = cx.b().compare(C::FordLt, x, edge);
                cx.b().select(below, zero, one)
            })
        }
        _ => {
            let (y, z) = (g.operand(cx, 1, Class::Float)?, g.operand(cx, 2, Class::Float)?);
            let one = |cx: &mut Cx<'_>, i: usize| match g.op {
                G::FMix => mix(cx, ty, x[i], y[i], z[i]),
                G::SmoothStep => smooth_step(cx, ty, x[i], y[i], z[i]),
                _ => fused(cx, x[i], y[i], z[i]),
            };
            (0..x.len()).map(|i| one(cx, i)).collect()
        }
    };
    cx.define_values(g.inst, &out)
}

fn scaled(cx: &mut Cx<'_>, x: &[Value], ty: Scalar, factor: f64) -> Values {
    let factor = cw::float(cx, ty, factor);
    cw::map(x, |x| cx.b().binary(B::Fmul, x, factor))
}

/// `x * (1 - a) + y * a`, the formula to which the precision of *FMix* refers.
fn mix(cx: &mut Cx<'_>, ty: Scalar, x: Value, y: Value, a: Value) -> Value {
    let one = cw::float(cx, ty, 1.0);
    let rest = cx.b().binary(B::Fsub, one, a);
    let x = cx.b().binary(B::Fmul, x, rest);
    let y = cx.b().binary(B::Fmul, y, a);
    cx.b().binary(B::Fadd, x, y)
}

/// `t * t * (3 - 2 * t)` where `t` is `clamp((x - edge0) / (edge1 - edge0), 0, 1)`.
fn smooth_step(cx: &mut Cx<'_>, ty: Scalar, edge0: Value, edge1: Value, x: Value) -> Value {
    let (zero, one) = (cw::float(cx, ty, 0.0), cw::float(cx, ty, 1.0));
    let (two, three) = (cw::float(cx, ty, 2.0), cw::float(cx, ty, 3.0));
    let above = cx.b().binary(B::Fsub, x, edge0);
    let width = cx.b().binary(B::Fsub, edge1, edge0);
    let t = cx.b().binary(B::Fdiv, above, width);
    let t = clamp_to(cx, t, zero, one);
    let square = cx.b().binary(B::Fmul, t, t);
    let double = cx.b().binary(B::Fmul, two, t);
    let rest = cx.b().binary(B::Fsub, three, double);
    cx.b().binary(B::Fmul, square, rest)
}

/// *FindILsb*, *FindSMsb*, *FindUMsb*: -1 where there is no such bit. The result may have another
/// width.
pub(super) fn find(cx: &mut Cx<'_>, g: Glsl<'_, '_>) -> Res<()> {
    let op = match g.op {
        G::FindILsb => U::FindLsb,
        G::FindSMsb => U::FindSMsb,
        _ => U::FindUMsb,
    };
    let x = g.operand(cx, 0, Class::Int)?;
    let to = cw::result_scalar(cx, g.inst, Class::Int)?;
    let mut out = Values::new();
    for x in x {
        let found = cx.b().unary(op, x);
        out.push(cw::resize(cx, found, to, true));
    }
    cx.define_values(g.inst, &out)
}
