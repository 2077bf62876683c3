//! Extended instructions: GLSL.std.450 and NonSemantic.DebugPrintf.
//!
//! Instructions of GLSL.std.450 that are one scalar operation for each component are tables here;
//! the rest is expanded in the submodules by the formulas that the specification gives, to which
//! Vulkan's precision rules refer.

mod common;
mod geometry;
mod matrix;
mod pack;
mod printf;
mod split;

use super::componentwise::{self as cw, Class};
use crate::cx::{Cx, Values};
use crate::diag::{Res, code, operand, unsupported};
use crate::module::ExtSet;
use crate::reader::{Id, Inst};
use phalanx_ir::{BinaryOp as B, CompareOp, Op, Scalar, UnaryOp as U, Value};
use spirv::GlslStd450Op as G;

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match cx.spv.ext_set_of(inst) {
        ExtSet::Glsl => glsl(cx, inst),
        ExtSet::Printf if inst.arg(1)? == 1 => printf::emit(cx, inst),
        // What is not semantic may be ignored, by definition.
        ExtSet::Printf | ExtSet::DebugInfo | ExtSet::NonSemantic => Ok(()),
        ExtSet::Unknown => {
            let name = inst.args.first().and_then(|set| cx.spv.ext_sets.get(set));
            let name = name.map_or("without an import", |(_, name)| name);
            Err(unsupported(code::EXTENSION, format!("the instruction set {name}")))
        }
    }
}

/// An instruction of GLSL.std.450, its operands behind set and number.
#[derive(Clone, Copy)]
struct Glsl<'a, 'w> {
    inst: &'a Inst<'w>,
    op: G,
}

impl Glsl<'_, '_> {
    /// Id of operand `i`.
    fn arg(&self, i: usize) -> Res<Id> {
        self.inst.arg(2 + i)
    }

    /// The components of operand `i`, which must be of the same type as those of operand 0.
    fn operand(&self, cx: &mut Cx<'_>, i: usize, class: Class) -> Res<Values> {
        let x = cw::components(cx, self.arg(i)?, class)?;
        if i > 0 {
            let first = cx.values(self.arg(0)?)?;
            cw::expect_alike(cx, &first, &x)?;
        }
        Ok(x)
    }
}

fn glsl(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let number = inst.arg(1)?;
    let Some(op) = G::from_u32(number) else {
        return Err(operand(format!("GLSL.std.450 has no instruction {number}")));
    };
    let g = Glsl { inst, op };
    if let Some((op, class)) = unary(op) {
        let x = g.operand(cx, 0, class)?;
        let out = cw::map(&x, |x| match op {
            U::Sinh | U::Cosh => hyperbolic(cx, op, x),
            _ => cx.b().unary(op, x),
        });
        return cx.define_values(inst, &out);
    }
    if let Some((op, class)) = binary(op) {
        let (x, y) = (g.operand(cx, 0, class)?, g.operand(cx, 1, class)?);
        let signed = cx.signed_zeros(inst);
        let out = cw::zip(&x, &y, |x, y| pick(cx, op, x, y, signed));
        return cx.define_values(inst, &out);
    }
    if let Some((low, high, class)) = clamp(op) {
        let (x, min, max) = (g.operand(cx, 0, class)?, g.operand(cx, 1, class)?, g.operand(cx, 2, class)?);
        let signed = cx.signed_zeros(inst);
        let out = cw::zip(&x, &min, |x, min| pick(cx, low, x, min, signed));
        let out = cw::zip(&out, &max, |x, max| pick(cx, high, x, max, signed));
        return cx.define_values(inst, &out);
    }
    match op {
        G::Radians | G::Degrees | G::FMix | G::Step | G::SmoothStep | G::Fma => common::emit(cx, g),
        G::FindILsb | G::FindSMsb | G::FindUMsb => common::find(cx, g),
        G::Modf | G::ModfStruct | G::Frexp | G::FrexpStruct | G::Ldexp => split::emit(cx, g),
        G::Length | G::Distance | G::Cross | G::Normalize => geometry::emit(cx, g),
        G::FaceForward | G::Reflect | G::Refract => geometry::emit(cx, g),
        G::Determinant | G::MatrixInverse => matrix::emit(cx, g),
        G::PackSnorm4x8
        | G::PackUnorm4x8
        | G::PackSnorm2x16
        | G::PackUnorm2x16
        | G::PackHalf2x16
        | G::PackDouble2x32 => pack::pack(cx, g),
        G::UnpackSnorm2x16
        | G::UnpackUnorm2x16
        | G::UnpackHalf2x16
        | G::UnpackSnorm4x8
        | G::UnpackUnorm4x8
        | G::UnpackDouble2x32 => pack::unpack(cx, g),
        // Interpolation needs a fragment shader; IMix was never specified.
        _ => Err(unsupported(code::OPCODE, format!("GLSL.std.450 {op:?} in a compute shader"))),
    }
}

fn unary(op: G) -> Option<(U, Class)> {
    use Class::{Float, Int};
    Some(match op {
        G::Round | G::RoundEven => (U::RoundEven, Float),
        G::Trunc => (U::Trunc, Float),
        G::FAbs => (U::Fabs, Float),
        G::SAbs => (U::Sabs, Int),
        G::FSign => (U::Fsign, Float),
        G::SSign => (U::Ssign, Int),
        G::Floor => (U::Floor, Float),
        G::Ceil => (U::Ceil, Float),
        G::Fract => (U::Fract, Float),
        G::Sin => (U::Sin, Float),
        G::Cos => (U::Cos, Float),
        G::Tan => (U::Tan, Float),
        G::Asin => (U::Asin, Float),
        G::Acos => (U::Acos, Float),
        G::Atan => (U::Atan, Float),
        G::Sinh => (U::Sinh, Float),
        G::Cosh => (U::Cosh, Float),
        G::Tanh => (U::Tanh, Float),
        G::Asinh => (U::Asinh, Float),
        G::Acosh => (U::Acosh, Float),
        G::Atanh => (U::Atanh, Float),
        G::Exp => (U::Exp, Float),
        G::Log => (U::Log, Float),
        G::Exp2 => (U::Exp2, Float),
        G::Log2 => (U::Log2, Float),
        G::Sqrt => (U::Sqrt, Float),
        G::InverseSqrt => (U::InverseSqrt, Float),
        _ => return None,
    })
}

fn binary(op: G) -> Option<(B, Class)> {
    use Class::{Float, Int};
    Some(match op {
        G::Atan2 => (B::Atan2, Float),
        G::Pow => (B::Pow, Float),
        G::FMin | G::NMin => (B::Fmin, Float),
        G::UMin => (B::Umin, Int),
        G::SMin => (B::Smin, Int),
        G::FMax | G::NMax => (B::Fmax, Float),
        G::UMax => (B::Umax, Int),
        G::SMax => (B::Smax, Int),
        _ => return None,
    })
}

/// `min(max(x, minVal), maxVal)`.
fn clamp(op: G) -> Option<(B, B, Class)> {
    match op {
        G::FClamp | G::NClamp => Some((B::Fmax, B::Fmin, Class::Float)),
        G::UClamp => Some((B::Umax, B::Umin, Class::Int)),
        G::SClamp => Some((B::Smax, B::Smin, Class::Int)),
        _ => None,
    }
}

/// *Sinh* or *Cosh*. Vulkan defines both by exponentials, which overflow a little before half of their sum
/// would; the conformance suite allows nothing but the infinity there.
fn hyperbolic(cx: &mut Cx<'_>, op: U, x: Value) -> Value {
    /// The greatest number whose exponential is finite.
    const LIMIT: f64 = 88.722_831_726_074_22;
    let y = cx.b().unary(op, x);
    if cx.func.ty(x).scalar() != Some(Scalar::F32) {
        return y;
    }
    let (limit, infinity) = (cw::float(cx, Scalar::F32, LIMIT), cw::float(cx, Scalar::F32, f64::INFINITY));
    let size = cx.b().unary(U::Fabs, x);
    let overflows = cx.b().compare(CompareOp::FordLt, limit, size);
    let infinite = cx.b().binary(B::Fmul, y, infinity);
    cx.b().select(overflows, infinite, y)
}

/// A binary operation. Where zeros keep their signs, -0 is less than 0: the minimum of equal numbers
/// has the bits of both, the maximum those that both have.
fn pick(cx: &mut Cx<'_>, op: B, x: Value, y: Value, signed_zeros: bool) -> Value {
    let picked = cx.b().binary(op, x, y);
    let merge = match op {
        B::Fmin if signed_zeros => B::Or,
        B::Fmax if signed_zeros => B::And,
        _ => return picked,
    };
    let ty = cx.func.ty(x);
    let Some(int) = ty.scalar().and_then(|s| Scalar::int(s.bits())) else { return picked };
    let [a, b] = [x, y].map(|v| cx.b().value(Op::Bitcast, &[v], int.into()));
    let merged = cx.b().binary(merge, a, b);
    let merged = cx.b().value(Op::Bitcast, &[merged], ty);
    let equal = cx.b().compare(CompareOp::FordEq, x, y);
    cx.b().select(equal, merged, picked)
}

/// `min(max(x, low), high)` for floats.
fn clamp_to(cx: &mut Cx<'_>, x: Value, low: Value, high: Value) -> Value {
    let x = cx.b().binary(B::Fmax, x, low);
    cx.b().binary(B::Fmin, x, high)
}
