//! Vectors as directions and distances.

use super::Glsl;
use crate::cx::{Cx, Values};
use crate::diag::{Res, operand};
use crate::ops::arith::sum_of_products;
use crate::ops::componentwise::{self as cw, Class};
use phalanx_ir::{BinaryOp as B, CompareOp as C, UnaryOp as U, Value};
use spirv::GlslStd450Op as G;

/// Translates a geometric instruction.
pub(super) fn emit(cx: &mut Cx<'_>, g: Glsl<'_, '_>) -> Res<()> {
    let x = g.operand(cx, 0, Class::Float)?;
    let out = match g.op {
        G::Length => Values::from_slice(&[length(cx, &x)]),
        G::Distance => {
            let y = g.operand(cx, 1, Class::Float)?;
            let difference = cw::zip(&x, &y, |x, y| cx.b().binary(B::Fsub, x, y));
            Values::from_slice(&[length(cx, &difference)])
        }
        G::Normalize => {
            // Vulkan: the precision is that of x / length(x).
            let length = length(cx, &x);
            cw::map(&x, |x| cx.b().binary(B::Fdiv, x, length))
        }
        G::Cross => {
            let y = g.operand(cx, 1, Class::Float)?;
            cross(cx, &x, &y)?
        }
        G::FaceForward => face_forward(cx, g, &x)?,
        G::Reflect => reflect(cx, g, &x)?,
        _ => refract(cx, g, &x)?,
    };
    cx.define_values(g.inst, &out)
}

/// The length of a vector: `sqrt(dot(x, x))`, which is `abs(x)` for a scalar.
fn length(cx: &mut Cx<'_>, x: &[Value]) -> Value {
    if let [x] = x {
        return cx.b().unary(U::Fabs, *x);
    }
    let square = sum_of_products(cx, x, x);
    cx.b().unary(U::Sqrt, square)
}

fn cross(cx: &mut Cx<'_>, x: &[Value], y: &[Value]) -> Res<Values> {
    if x.len() != 3 {
        return Err(operand(format!("the operands have {} components, expected 3", x.len())));
    }
    Ok([(1, 2), (2, 0), (0, 1)]
        .into_iter()
        .map(|(i, j)| {
            let a = cx.b().binary(B::Fmul, x[i], y[j]);
            let b = cx.b().binary(B::Fmul, y[i], x[j]);
            cx.b().binary(B::Fsub, a, b)
        })
        .collect())
}

/// `dot(Nref, I) < 0 ? N : -N`.
fn face_forward(cx: &mut Cx<'_>, g: Glsl<'_, '_>, n: &[Value]) -> Res<Values> {
    let (i, reference) = (g.operand(cx, 1, Class::Float)?, g.operand(cx, 2, Class::Float)?);
    let ty = cw::scalar_ty(cx, n[0])?;
    let dot = sum_of_products(cx, &reference, &i);
    let zero = cw::float(cx, ty, 0.0);
    let keep = cx.b().compare(C::FordLt, dot, zero);
    Ok(cw::map(n, |n| {
        let other = cx.b().unary(U::Fneg, n);
        cx.b().select(keep, n, other)
    }))
}

/// `I - 2 * dot(N, I) * N`.
fn reflect(cx: &mut Cx<'_>, g: Glsl<'_, '_>, i: &[Value]) -> Res<Values> {
    let n = g.operand(cx, 1, Class::Float)?;
    let ty = cw::scalar_ty(cx, i[0])?;
    let dot = sum_of_products(cx, &n, i);
    let two = cw::float(cx, ty, 2.0);
    let factor = cx.b().binary(B::Fmul, two, dot);
    Ok(cw::zip(i, &n, |i, n| {
        let n = cx.b().binary(B::Fmul, factor, n);
        cx.b().binary(B::Fsub, i, n)
    }))
}

/// With `k = 1 - eta * eta * (1 - dot(N, I)^2)`: zero where k is negative, otherwise
/// `eta * I - (eta * dot(N, I) + sqrt(k)) * N`.
fn refract(cx: &mut Cx<'_>, g: Glsl<'_, '_>, i: &[Value]) -> Res<Values> {
    let n = g.operand(cx, 1, Class::Float)?;
    let ty = cw::scalar_ty(cx, i[0])?;
    let eta = cw::scalar(cx, g.arg(2)?, Class::Float)?;
    let eta = cw::refloat(cx, eta, ty);
    let (zero, one) = (cw::float(cx, ty, 0.0), cw::float(cx, ty, 1.0));
    let dot = sum_of_products(cx, &n, i);
    let dot_square = cx.b().binary(B::Fmul, dot, dot);
    let sine_square = cx.b().binary(B::Fsub, one, dot_square);
    let eta_square = cx.b().binary(B::Fmul, eta, eta);
    let part = cx.b().binary(B::Fmul, eta_square, sine_square);
    let k = cx.b().binary(B::Fsub, one, part);
    let none = cx.b().compare(C::FordLt, k, zero);
    let root = cx.b().unary(U::Sqrt, k);
    let along = cx.b().binary(B::Fmul, eta, dot);
    let along = cx.b().binary(B::Fadd, along, root);
    Ok(cw::zip(i, &n, |i, n| {
        let i = cx.b().binary(B::Fmul, eta, i);
        let n = cx.b().binary(B::Fmul, along, n);
        let out = cx.b().binary(B::Fsub, i, n);
        cx.b().select(none, zero, out)
    }))
}
