//! Functions: `math`, as far as the IR has them, and what follows from them.

use phalanx_ir::{BinaryOp as B, CompareOp as C, ConvertKind as K, Op as IrOp, Scalar, UnaryOp as U, Value};

use super::arith::{Class, operand, same, scalar_of, widened};
use super::cx::Cx;
use super::value::Values;
use crate::ast::Op;
use crate::error::{Res, bug, invalid, not_built, unsupported};

/// Translates an operation of the dialect.
pub(super) fn emit(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let name = op.name.strip_prefix("math.").unwrap_or(&op.name);
    if let Some((function, class)) = unary(name) {
        return each(cx, op, class, |cx, x| match class {
            Class::Float => widened(cx, &[x], |cx, v| cx.b().unary(function, v[0])),
            Class::Int => Ok(cx.b().unary(function, x)),
        });
    }
    match name {
        "absf" => each(cx, op, Class::Float, magnitude),
        "powf" | "atan2" | "copysign" => pairs(cx, op, name),
        "ctlz" | "cttz" => each(cx, op, Class::Int, |cx, x| zeros(cx, x, name == "ctlz")),
        "expm1" | "log1p" | "log10" | "cbrt" | "round" | "isnan" | "isinf" | "isfinite" | "isnormal" => {
            each(cx, op, Class::Float, |cx, x| widened(cx, &[x], |cx, v| derived(cx, name, v[0])))
        }
        "erf" => each(cx, op, Class::Float, |cx, x| widened(cx, &[x], |cx, v| erf(cx, v[0]))),
        "fma" => {
            let x = [0, 1, 2].map(|i| operand(cx, op, i, Class::Float));
            let [x, y, z] = x;
            let (x, y, z) = (x?, y?, z?);
            same(cx, op, &x, &y)?;
            same(cx, op, &x, &z)?;
            let mut out = Values::new();
            for i in 0..x.len() {
                out.push(fma(cx, x[i], y[i], z[i])?);
            }
            cx.define_values(op, out)
        }
        "ipowi" => {
            let (x, y) = (operand(cx, op, 0, Class::Int)?, operand(cx, op, 1, Class::Int)?);
            same(cx, op, &x, &y)?;
            let mut out = Values::new();
            for (&x, &y) in x.iter().zip(&y) {
                out.push(integer_power(cx, x, y)?);
            }
            cx.define_values(op, out)
        }
        _ => Err(not_built()),
    }
}

fn unary(name: &str) -> Option<(U, Class)> {
    Some(match name {
        "ceil" => (U::Ceil, Class::Float),
        "floor" => (U::Floor, Class::Float),
        "trunc" => (U::Trunc, Class::Float),
        "roundeven" => (U::RoundEven, Class::Float),
        "sqrt" => (U::Sqrt, Class::Float),
        "rsqrt" => (U::InverseSqrt, Class::Float),
        "sin" => (U::Sin, Class::Float),
        "cos" => (U::Cos, Class::Float),
        "tan" => (U::Tan, Class::Float),
        "asin" => (U::Asin, Class::Float),
        "acos" => (U::Acos, Class::Float),
        "atan" => (U::Atan, Class::Float),
        "sinh" => (U::Sinh, Class::Float),
        "cosh" => (U::Cosh, Class::Float),
        "tanh" => (U::Tanh, Class::Float),
        "asinh" => (U::Asinh, Class::Float),
        "acosh" => (U::Acosh, Class::Float),
        "atanh" => (U::Atanh, Class::Float),
        "exp" => (U::Exp, Class::Float),
        "exp2" => (U::Exp2, Class::Float),
        "log" => (U::Log, Class::Float),
        "log2" => (U::Log2, Class::Float),
        "absi" => (U::Sabs, Class::Int),
        "ctpop" => (U::BitCount, Class::Int),
        _ => return None,
    })
}

/// Applies a function to the scalars of the operand; integers are none of one bit.
fn each(
    cx: &mut Cx<'_>,
    op: &Op,
    class: Class,
    mut f: impl FnMut(&mut Cx<'_>, Value) -> Res<Value>,
) -> Res<()> {
    let x = operand(cx, op, 0, class)?;
    let mut out = Values::new();
    for &x in &x {
        if scalar_of(cx, x)? == Scalar::Bool {
            return Err(unsupported(format!("{} of i1", op.name)));
        }
        out.push(f(cx, x)?);
    }
    cx.define_values(op, out)
}

/// The bits of a float as an integer, and the type of that.
fn bits_of(cx: &mut Cx<'_>, x: Value) -> Res<(Value, Scalar)> {
    let scalar = scalar_of(cx, x)?;
    let int = Scalar::int(scalar.bits()).ok_or_else(|| bug("a float of an odd size"))?;
    Ok((cx.b().value(IrOp::Bitcast, &[x], int.into()), int))
}

/// `|x|`, of the sign's bit alone.
fn magnitude(cx: &mut Cx<'_>, x: Value) -> Res<Value> {
    let scalar = scalar_of(cx, x)?;
    if scalar.is_arithmetic_float() {
        return Ok(cx.b().unary(U::Fabs, x));
    }
    let (bits, int) = bits_of(cx, x)?;
    let mask = cx.b().constant(int, int.mask() >> 1);
    let bits = cx.b().binary(B::And, bits, mask);
    Ok(cx.b().value(IrOp::Bitcast, &[bits], scalar.into()))
}

fn pairs(cx: &mut Cx<'_>, op: &Op, name: &str) -> Res<()> {
    let (x, y) = (operand(cx, op, 0, Class::Float)?, operand(cx, op, 1, Class::Float)?);
    same(cx, op, &x, &y)?;
    let mut out = Values::new();
    for (&x, &y) in x.iter().zip(&y) {
        out.push(match name {
            "powf" => widened(cx, &[x, y], |cx, v| cx.b().binary(B::Pow, v[0], v[1]))?,
            "atan2" => widened(cx, &[x, y], |cx, v| cx.b().binary(B::Atan2, v[0], v[1]))?,
            _ => {
                let ((xs, int), (ys, _)) = (bits_of(cx, x)?, bits_of(cx, y)?);
                let (low, sign) =
                    (cx.b().constant(int, int.mask() >> 1), cx.b().constant(int, !(int.mask() >> 1)));
                let (xs, ys) = (cx.b().binary(B::And, xs, low), cx.b().binary(B::And, ys, sign));
                let bits = cx.b().binary(B::Or, xs, ys);
                let ty = cx.func.ty(x);
                cx.b().value(IrOp::Bitcast, &[bits], ty)
            }
        });
    }
    cx.define_values(op, out)
}

/// With one rounding; `bf16` and 8-bit floats are summed in `f32` and rounded once more.
pub(super) fn fma(cx: &mut Cx<'_>, x: Value, y: Value, z: Value) -> Res<Value> {
    widened(cx, &[x, y, z], |cx, v| {
        let ty = cx.func.ty(v[0]);
        cx.b().value(IrOp::Fma, &[v[0], v[1], v[2]], ty)
    })
}

/// How many zeros there are above the highest bit set, or below the lowest: all of them in 0.
fn zeros(cx: &mut Cx<'_>, x: Value, leading: bool) -> Res<Value> {
    let scalar = scalar_of(cx, x)?;
    let mut b = cx.b();
    let (zero, width) = (b.constant(scalar, 0), b.constant(scalar, scalar.bits().into()));
    let count = if leading {
        let top = b.constant(scalar, u64::from(scalar.bits()) - 1);
        let highest = b.unary(U::FindUMsb, x);
        b.binary(B::Isub, top, highest)
    } else {
        b.unary(U::FindLsb, x)
    };
    let is_zero = b.compare(C::Ieq, x, zero);
    Ok(b.select(is_zero, width, count))
}

/// A constant of a float's type.
fn number(cx: &mut Cx<'_>, x: Value, n: f64) -> Value {
    let scalar = cx.func.ty(x).scalar().unwrap_or(Scalar::F32);
    let op = phalanx_ir::ConvertOp::new(K::FToF);
    let bits = phalanx_ir::eval::convert(op, Scalar::F64, scalar, n.to_bits());
    cx.b().constant(scalar, bits)
}

/// Functions by others.
fn derived(cx: &mut Cx<'_>, name: &str, x: Value) -> Value {
    match name {
        "expm1" => {
            // tanh(x / 2) * (exp(x) + 1) loses nothing near 0; elsewhere the difference does not.
            let (half, one) = (number(cx, x, 0.5), number(cx, x, 1.0));
            let mut b = cx.b();
            let e = b.unary(U::Exp, x);
            let h = b.binary(B::Fmul, x, half);
            let t = b.unary(U::Tanh, h);
            let s = b.binary(B::Fadd, e, one);
            let near = b.binary(B::Fmul, t, s);
            let far = b.binary(B::Fsub, e, one);
            let m = b.unary(U::Fabs, x);
            let is_near = b.compare(C::FordLt, m, one);
            b.select(is_near, near, far)
        }
        "log1p" => {
            // 2 atanh(x / (2 + x)) near 0.
            let (one, two) = (number(cx, x, 1.0), number(cx, x, 2.0));
            let mut b = cx.b();
            let s = b.binary(B::Fadd, two, x);
            let q = b.binary(B::Fdiv, x, s);
            let a = b.unary(U::Atanh, q);
            let near = b.binary(B::Fmul, two, a);
            let y = b.binary(B::Fadd, one, x);
            let far = b.unary(U::Log, y);
            let half = number(cx, x, 0.5);
            let mut b = cx.b();
            let m = b.unary(U::Fabs, x);
            let is_near = b.compare(C::FordLt, m, half);
            b.select(is_near, near, far)
        }
        "log10" => {
            let scale = number(cx, x, std::f64::consts::LOG10_2);
            let log = cx.b().unary(U::Log2, x);
            cx.b().binary(B::Fmul, log, scale)
        }
        "cbrt" => {
            let third = number(cx, x, 1.0 / 3.0);
            let mut b = cx.b();
            let m = b.unary(U::Fabs, x);
            let root = b.binary(B::Pow, m, third);
            let sign = b.unary(U::Fsign, x);
            b.binary(B::Fmul, root, sign)
        }
        "round" => {
            // Halves go away from 0. What is as large as a float's integers stays as it is.
            let half = number(cx, x, 0.5);
            let one = number(cx, x, 1.0);
            let mut b = cx.b();
            let whole = b.unary(U::Trunc, x);
            let rest = b.binary(B::Fsub, x, whole);
            let rest = b.unary(U::Fabs, rest);
            let sign = b.unary(U::Fsign, x);
            let step = b.binary(B::Fmul, sign, one);
            let away = b.binary(B::Fadd, whole, step);
            let is_half = b.compare(C::FordLe, half, rest);
            b.select(is_half, away, whole)
        }
        "isnan" => cx.b().unary(U::IsNan, x),
        "isinf" => cx.b().unary(U::IsInf, x),
        "isfinite" => {
            let infinity = number(cx, x, f64::INFINITY);
            let m = cx.b().unary(U::Fabs, x);
            cx.b().compare(C::FordLt, m, infinity)
        }
        _ => {
            let least = match cx.func.ty(x).scalar() {
                Some(Scalar::F16) => 6.103_515_625e-5,
                Some(Scalar::F64) => f64::MIN_POSITIVE,
                _ => f64::from(f32::MIN_POSITIVE),
            };
            let (least, infinity) = (number(cx, x, least), number(cx, x, f64::INFINITY));
            let mut b = cx.b();
            let m = b.unary(U::Fabs, x);
            let (is_finite, is_large) = (b.compare(C::FordLt, m, infinity), b.compare(C::FordLe, least, m));
            b.binary(B::And, is_finite, is_large)
        }
    }
}

/// The error function by formula 7.1.26 of Abramowitz and Stegun, off by at most 1.5e-7.
fn erf(cx: &mut Cx<'_>, x: Value) -> Value {
    const TERMS: [f64; 5] = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let (one, p) = (number(cx, x, 1.0), number(cx, x, 0.327_591_1));
    let m = cx.b().unary(U::Fabs, x);
    let s = cx.b().binary(B::Fmul, p, m);
    let s = cx.b().binary(B::Fadd, one, s);
    let t = cx.b().binary(B::Fdiv, one, s);
    let mut sum = number(cx, x, 0.0);
    for term in TERMS {
        let term = number(cx, x, term);
        let next = cx.b().binary(B::Fadd, sum, term);
        sum = cx.b().binary(B::Fmul, next, t);
    }
    let mut b = cx.b();
    let square = b.binary(B::Fmul, m, m);
    let square = b.unary(U::Fneg, square);
    let e = b.unary(U::Exp, square);
    let tail = b.binary(B::Fmul, sum, e);
    let y = b.binary(B::Fsub, one, tail);
    let sign = b.unary(U::Fsign, x);
    b.binary(B::Fmul, y, sign)
}

/// Powers by squaring, of the exponent's bits without a sign; a negative exponent gives 0, but for bases 1 and -1.
fn integer_power(cx: &mut Cx<'_>, x: Value, y: Value) -> Res<Value> {
    let scalar = scalar_of(cx, x)?;
    if !scalar.is_int() {
        return Err(invalid("expected integers"));
    }
    let (zero, one) = (cx.b().constant(scalar, 0), cx.b().constant(scalar, 1));
    let (mut power, mut square) = (one, x);
    for bit in 0..scalar.bits() {
        let mask = cx.b().constant(scalar, 1 << bit);
        let set = cx.b().binary(B::And, y, mask);
        let is_set = cx.b().compare(C::Ine, set, zero);
        let product = cx.b().binary(B::Imul, power, square);
        power = cx.b().select(is_set, product, power);
        square = cx.b().binary(B::Imul, square, square);
    }
    // The squares of 1 and -1 are 1, so those two come out right whatever the exponent.
    let size = cx.b().unary(U::Sabs, x);
    let is_unit = cx.b().compare(C::Ieq, size, one);
    let negative = cx.b().compare(C::Slt, y, zero);
    let not_unit = cx.b().unary(U::Not, is_unit);
    let vanishes = cx.b().binary(B::And, negative, not_unit);
    Ok(cx.b().select(vanishes, zero, power))
}
