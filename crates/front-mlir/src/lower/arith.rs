//! Arithmetic: `arith` and `ub`.
//!
//! What `arith` calls poison or undefined behaviour is here what the IR makes of it: shifts are taken modulo the width,
//! a division by zero gives 0, conversions to integers saturate; `nsw`, `nuw`, `exact` and the like mean nothing.
//! An operation may be contracted with others only where its fast-math flags say `contract` or `fast`.
//! Floats without arithmetic of their own (`bf16`, 8-bit floats) are computed in `f32` and rounded once more.

use phalanx_ir::{
    BinaryOp as B, CompareOp as C, ConvertKind as K, ConvertOp, Op as IrOp, Rounding, Scalar, UnaryOp as U,
    Value,
};
use smallvec::{SmallVec, smallvec};

use super::attr;
use super::cx::Cx;
use super::types;
use super::value::{Val, Values};
use crate::ast::{Attr, Op};
use crate::error::{Res, bug, invalid, not_built, unsupported};

/// Translates an operation of the dialect.
pub(super) fn emit(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let name = op.name.strip_prefix("arith.").unwrap_or(&op.name);
    if let Some(binary) = integer(name) {
        return zip(cx, op, Class::Int, |cx, x, y| Ok(cx.b().binary(binary, x, y)));
    }
    if let Some(binary) = float(name) {
        let exact = is_exact(op);
        return zip(cx, op, Class::Float, |cx, x, y| {
            widened(cx, &[x, y], |cx, v| cx.exact(exact).binary(binary, v[0], v[1]))
        });
    }
    match name {
        "constant" => constant(cx, op),
        "ceildivsi" | "floordivsi" | "ceildivui" => {
            zip(cx, op, Class::Int, |cx, x, y| rounded_division(cx, name, x, y))
        }
        "addui_extended" | "mului_extended" | "mulsi_extended" => extended(cx, op, name),
        "minimumf" | "maximumf" => zip(cx, op, Class::Float, |cx, x, y| {
            widened(cx, &[x, y], |cx, v| propagating(cx, name == "maximumf", v[0], v[1]))
        }),
        "negf" => {
            let x = cx.values(op, 0)?;
            let out = x.iter().map(|&x| negated(cx, x)).collect::<Res<Values>>()?;
            cx.define_values(op, out)
        }
        "cmpi" => compare_integers(cx, op),
        "cmpf" => compare_floats(cx, op),
        "select" => select(cx, op),
        "bitcast" => bitcast(cx, op),
        _ => convert(cx, op, name),
    }
}

/// `ub.poison`: some value.
pub(super) fn poison(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let (count, scalar) = types::scalars(cx.result_ty(op, 0)?)?;
    let zero = cx.b().constant(scalar, 0);
    cx.define_values(op, smallvec![zero; count])
}

fn integer(name: &str) -> Option<B> {
    Some(match name {
        "addi" => B::Iadd,
        "subi" => B::Isub,
        "muli" => B::Imul,
        "divsi" => B::Sdiv,
        "divui" => B::Udiv,
        "remsi" => B::Srem,
        "remui" => B::Umod,
        "andi" => B::And,
        "ori" => B::Or,
        "xori" => B::Xor,
        "shli" => B::Shl,
        "shrsi" => B::Ashr,
        "shrui" => B::Lshr,
        "minsi" => B::Smin,
        "minui" => B::Umin,
        "maxsi" => B::Smax,
        "maxui" => B::Umax,
        _ => return None,
    })
}

fn float(name: &str) -> Option<B> {
    Some(match name {
        "addf" => B::Fadd,
        "subf" => B::Fsub,
        "mulf" => B::Fmul,
        "divf" => B::Fdiv,
        "remf" => B::Frem,
        "minnumf" => B::Fmin,
        "maxnumf" => B::Fmax,
        _ => return None,
    })
}

/// What scalars an operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Integers, truth values and `index`.
    Int,
    /// Floats.
    Float,
}

/// Whether a value is of a class.
pub(super) fn is_of(cx: &Cx<'_>, value: Value, class: Class) -> bool {
    cx.func.ty(value).scalar().is_some_and(|s| match class {
        Class::Int => s.is_int() || s == Scalar::Bool,
        Class::Float => s.is_float(),
    })
}

/// The scalars of an operand, all of a class.
pub(super) fn operand(cx: &mut Cx<'_>, op: &Op, i: usize, class: Class) -> Res<Values> {
    let values = cx.values(op, i)?;
    if values.iter().all(|&v| is_of(cx, v, class)) {
        return Ok(values);
    }
    Err(cx.wrong(op, i, if class == Class::Int { "integers" } else { "floats" }))
}

/// Whether floats must not be contracted.
pub(super) fn is_exact(op: &Op) -> bool {
    let flags = match attr::get(op, "fastmath") {
        Some(Attr::Dialect(text)) => &**text,
        _ => "",
    };
    !flags.contains("contract") && !flags.contains("fast>")
}

/// Applies an operation to the scalars of two operands of one type.
fn zip(
    cx: &mut Cx<'_>,
    op: &Op,
    class: Class,
    mut f: impl FnMut(&mut Cx<'_>, Value, Value) -> Res<Value>,
) -> Res<()> {
    let (x, y) = (operand(cx, op, 0, class)?, operand(cx, op, 1, class)?);
    same(cx, op, &x, &y)?;
    let mut out = Values::new();
    for (&x, &y) in x.iter().zip(&y) {
        out.push(f(cx, x, y)?);
    }
    cx.define_values(op, out)
}

/// Refuses operands of different types.
pub(super) fn same(cx: &Cx<'_>, op: &Op, x: &[Value], y: &[Value]) -> Res<()> {
    if x.len() == y.len() && x.iter().zip(y).all(|(&x, &y)| cx.func.ty(x) == cx.func.ty(y)) {
        return Ok(());
    }
    let found = |i| cx.operand_ty(op, i).map(types::describe).unwrap_or_default();
    Err(invalid(format!("operands of different types: {} and {}", found(0), found(1))))
}

/// The scalar type of a value.
pub(super) fn scalar_of(cx: &Cx<'_>, value: Value) -> Res<Scalar> {
    cx.func.ty(value).scalar().ok_or_else(|| bug("a scalar that is none"))
}

/// Applies an operation to floats; those without arithmetic of their own become `f32`, and the result what they were.
pub(super) fn widened(
    cx: &mut Cx<'_>,
    values: &[Value],
    f: impl FnOnce(&mut Cx<'_>, &[Value]) -> Value,
) -> Res<Value> {
    let scalar = scalar_of(cx, values[0])?;
    if scalar.is_arithmetic_float() {
        return Ok(f(cx, values));
    }
    let wide: Values = values.iter().map(|&v| cx.b().convert(K::FToF, v, Scalar::F32)).collect();
    let result = f(cx, &wide);
    Ok(if cx.func.ty(result) == types::ir(Scalar::F32) {
        cx.b().convert(K::FToF, result, scalar)
    } else {
        result
    })
}

/// `-x`, of the sign's bit alone.
pub(super) fn negated(cx: &mut Cx<'_>, x: Value) -> Res<Value> {
    let scalar = scalar_of(cx, x)?;
    if !scalar.is_float() {
        return Err(invalid("expected a float"));
    }
    if scalar.is_arithmetic_float() {
        return Ok(cx.b().unary(U::Fneg, x));
    }
    let int = Scalar::int(scalar.bits()).ok_or_else(|| bug("a float of an odd size"))?;
    let bits = cx.b().value(IrOp::Bitcast, &[x], int.into());
    let sign = cx.b().constant(int, 1 << (int.bits() - 1));
    let flipped = cx.b().binary(B::Xor, bits, sign);
    Ok(cx.b().value(IrOp::Bitcast, &[flipped], scalar.into()))
}

/// `minimumf` and `maximumf`: NaN where one is, and -0 is less than +0.
pub(super) fn propagating(cx: &mut Cx<'_>, max: bool, x: Value, y: Value) -> Value {
    let ty = cx.func.ty(x);
    let int = ty.scalar().and_then(|s| Scalar::int(s.bits())).unwrap_or(Scalar::I32);
    let mut b = cx.b();
    let plain = b.binary(if max { B::Fmax } else { B::Fmin }, x, y);
    // Equal numbers have equal bits, but zeros, of which one may have a sign.
    let (xs, ys) = (b.value(IrOp::Bitcast, &[x], int.into()), b.value(IrOp::Bitcast, &[y], int.into()));
    let bits = b.binary(if max { B::And } else { B::Or }, xs, ys);
    let either = b.value(IrOp::Bitcast, &[bits], ty);
    let equal = b.compare(C::FordEq, x, y);
    let chosen = b.select(equal, either, plain);
    let sum = b.binary(B::Fadd, x, y);
    let (nan_x, nan_y) = (b.unary(U::IsNan, x), b.unary(U::IsNan, y));
    let nan = b.binary(B::Or, nan_x, nan_y);
    b.select(nan, sum, chosen)
}

fn rounded_division(cx: &mut Cx<'_>, name: &str, x: Value, y: Value) -> Res<Value> {
    let scalar = scalar_of(cx, x)?;
    if !scalar.is_int() {
        return Err(invalid("expected integers"));
    }
    let mut b = cx.b();
    let (zero, one) = (b.constant(scalar, 0), b.constant(scalar, 1));
    if name == "ceildivui" {
        let (quotient, rest) = (b.binary(B::Udiv, x, y), b.binary(B::Umod, x, y));
        let up = b.compare(C::Ine, rest, zero);
        let more = b.binary(B::Iadd, quotient, one);
        return Ok(b.select(up, more, quotient));
    }
    // Truncation rounds towards zero; where the exact quotient is on the other side, one step is missing.
    let (quotient, rest) = (b.binary(B::Sdiv, x, y), b.binary(B::Srem, x, y));
    let is_inexact = b.compare(C::Ine, rest, zero);
    let signs = b.binary(B::Xor, x, y);
    let is_negative = b.compare(C::Slt, signs, zero);
    let (moves, step) = if name == "ceildivsi" {
        (b.unary(U::Not, is_negative), b.binary(B::Iadd, quotient, one))
    } else {
        (is_negative, b.binary(B::Isub, quotient, one))
    };
    let moves = b.binary(B::And, is_inexact, moves);
    Ok(b.select(moves, step, quotient))
}

/// The operations that give two results.
fn extended(cx: &mut Cx<'_>, op: &Op, name: &str) -> Res<()> {
    let (x, y) = (operand(cx, op, 0, Class::Int)?, operand(cx, op, 1, Class::Int)?);
    same(cx, op, &x, &y)?;
    let (mut low, mut high) = (Values::new(), Values::new());
    for (&x, &y) in x.iter().zip(&y) {
        let mut b = cx.b();
        if name == "addui_extended" {
            let sum = b.binary(B::Iadd, x, y);
            low.push(sum);
            high.push(b.compare(C::Ult, sum, x));
        } else {
            low.push(b.binary(B::Imul, x, y));
            high.push(b.binary(if name == "mulsi_extended" { B::SmulHi } else { B::UmulHi }, x, y));
        }
    }
    cx.define(op, vec![Val::Scalars(low), Val::Scalars(high)])
}

// ── comparisons ──

fn compare_integers(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let (compare, swaps) = match attr::int(op, "predicate")? {
        0 => (C::Ieq, false),
        1 => (C::Ine, false),
        2 => (C::Slt, false),
        3 => (C::Sle, false),
        4 => (C::Slt, true),
        5 => (C::Sle, true),
        6 => (C::Ult, false),
        7 => (C::Ule, false),
        8 => (C::Ult, true),
        9 => (C::Ule, true),
        n => return Err(invalid(format!("predicate {n}: expected 0 to 9"))),
    };
    zip(cx, op, Class::Int, |cx, x, y| {
        let (x, y) = if swaps { (y, x) } else { (x, y) };
        if scalar_of(cx, x)? != Scalar::Bool || matches!(compare, C::Ieq | C::Ine) {
            return Ok(cx.b().compare(compare, x, y));
        }
        // Order among truth values: `true` is -1 to signed comparisons.
        let to_int = |cx: &mut Cx<'_>, v| {
            let (one, zero) =
                (cx.b().i32(if matches!(compare, C::Slt | C::Sle) { -1 } else { 1 }), cx.b().i32(0));
            cx.b().select(v, one, zero)
        };
        let (x, y) = (to_int(cx, x), to_int(cx, y));
        Ok(cx.b().compare(compare, x, y))
    })
}

fn compare_floats(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let predicate = attr::int(op, "predicate")?;
    if !(0..16).contains(&predicate) {
        return Err(invalid(format!("predicate {predicate}: expected 0 to 15")));
    }
    zip(cx, op, Class::Float, |cx, x, y| {
        widened(cx, &[x, y], |cx, v| float_predicate(cx, predicate, v[0], v[1]))
    })
}

/// The predicates in the order of their numbers: none, six ordered ones, ordered, the same unordered, all.
fn float_predicate(cx: &mut Cx<'_>, predicate: i64, x: Value, y: Value) -> Value {
    let mut b = cx.b();
    let (compare, swaps) = match predicate {
        1 => (C::FordEq, false),
        2 => (C::FordLt, true),
        3 => (C::FordLe, true),
        4 => (C::FordLt, false),
        5 => (C::FordLe, false),
        6 => (C::FordNe, false),
        8 => (C::FunordEq, false),
        9 => (C::FunordLt, true),
        10 => (C::FunordLe, true),
        11 => (C::FunordLt, false),
        12 => (C::FunordLe, false),
        13 => (C::FunordNe, false),
        7 | 14 => {
            let (nan_x, nan_y) = (b.unary(U::IsNan, x), b.unary(U::IsNan, y));
            let any = b.binary(B::Or, nan_x, nan_y);
            return if predicate == 7 { b.unary(U::Not, any) } else { any };
        }
        n => return b.bool(n == 15),
    };
    if swaps { b.compare(compare, y, x) } else { b.compare(compare, x, y) }
}

fn select(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let condition = operand(cx, op, 0, Class::Int)?;
    if condition.iter().any(|&c| cx.func.ty(c) != types::ir(Scalar::Bool)) {
        return Err(cx.wrong(op, 0, "i1"));
    }
    match (cx.arg(op, 1)?, cx.arg(op, 2)?) {
        (Val::Scalars(x), Val::Scalars(y)) => {
            same(cx, op, &x, &y)?;
            if condition.len() != 1 && condition.len() != x.len() {
                return Err(invalid("as many conditions as elements, or one"));
            }
            let pick = |i: usize| condition[if condition.len() == 1 { 0 } else { i }];
            let out = (0..x.len()).map(|i| cx.b().select(pick(i), x[i], y[i])).collect();
            cx.define_values(op, out)
        }
        (Val::Matrix(x), Val::Matrix(y)) if cx.func.ty(x) == cx.func.ty(y) && condition.len() == 1 => {
            let out = cx.b().select(condition[0], x, y);
            cx.define(op, vec![Val::Matrix(out)])
        }
        _ => Err(unsupported("a selection of values of this type")),
    }
}

// ── conversions ──

fn convert(cx: &mut Cx<'_>, op: &Op, name: &str) -> Res<()> {
    let (kind, from, to) = match name {
        "extsi" | "index_cast" => (K::SToS, Class::Int, Class::Int),
        "extui" | "index_castui" | "trunci" => (K::UToU, Class::Int, Class::Int),
        "extf" | "truncf" => (K::FToF, Class::Float, Class::Float),
        "sitofp" => (K::SToF, Class::Int, Class::Float),
        "uitofp" => (K::UToF, Class::Int, Class::Float),
        "fptosi" => (K::FToS, Class::Float, Class::Int),
        "fptoui" => (K::FToU, Class::Float, Class::Int),
        _ => return Err(not_built()),
    };
    let rounding = rounding(op)?;
    let x = operand(cx, op, 0, from)?;
    let (count, scalar) = types::scalars(cx.result_ty(op, 0)?)?;
    let fits = match to {
        Class::Int => scalar.is_int() || scalar == Scalar::Bool,
        Class::Float => scalar.is_float(),
    };
    if !fits || count != x.len() {
        return Err(invalid(format!("a result of {scalar}, which {name} cannot give")));
    }
    let out = x.iter().map(|&x| converted(cx, kind, x, scalar, rounding)).collect::<Res<Values>>()?;
    cx.define_values(op, out)
}

fn rounding(op: &Op) -> Res<Rounding> {
    let text = match attr::get(op, "roundingmode") {
        None => return Ok(Rounding::NearestEven),
        Some(Attr::Int(n, _)) => {
            return if *n == 0 { Ok(Rounding::NearestEven) } else { Err(unsupported("this rounding mode")) };
        }
        Some(_) => attr::keyword(op, "roundingmode")?,
    };
    match text {
        "to_nearest_even" => Ok(Rounding::NearestEven),
        "toward_zero" => Ok(Rounding::TowardZero),
        mode => Err(unsupported(format!("the rounding mode {mode}"))),
    }
}

/// Converts a scalar. Truth values become -1 or 1, as the sign of the conversion says.
pub(super) fn converted(cx: &mut Cx<'_>, kind: K, x: Value, to: Scalar, rounding: Rounding) -> Res<Value> {
    let from = scalar_of(cx, x)?;
    if from == to {
        return Ok(x);
    }
    let signed = matches!(kind, K::SToS | K::SToF | K::FToS);
    if from == Scalar::Bool {
        let int = if to.is_int() { to } else { Scalar::I32 };
        let one = cx.b().constant(int, if signed { u64::MAX } else { 1 });
        let zero = cx.b().constant(int, 0);
        let number = cx.b().select(x, one, zero);
        return if to.is_int() { Ok(number) } else { converted(cx, kind, number, to, rounding) };
    }
    if to == Scalar::Bool {
        // The lowest bit of an integer, also of what a float becomes.
        let int = if from.is_int() { from } else { Scalar::I32 };
        let number = if from.is_int() { x } else { converted(cx, kind, x, int, rounding)? };
        let (one, zero) = (cx.b().constant(int, 1), cx.b().constant(int, 0));
        let bit = cx.b().binary(B::And, number, one);
        return Ok(cx.b().compare(C::Ine, bit, zero));
    }
    let op = IrOp::Convert(ConvertOp { kind, rounding, saturate: false });
    Ok(cx.b().value(op, &[x], to.into()))
}

fn bitcast(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let x = cx.values(op, 0)?;
    let (count, scalar) = types::scalars(cx.result_ty(op, 0)?)?;
    let mut out = Values::new();
    for &x in &x {
        let from = scalar_of(cx, x)?;
        if from.bits() != scalar.bits() || count != x_len(&out, count) {
            return Err(invalid(format!("the bits of {from} as {scalar}")));
        }
        out.push(if from == scalar { x } else { cx.b().value(IrOp::Bitcast, &[x], scalar.into()) });
    }
    cx.define_values(op, out)
}

/// A bitcast keeps the number of elements, which [`Cx::define_values`] checks.
const fn x_len(_out: &Values, count: usize) -> usize {
    count
}

// ── constants ──

fn constant(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let (count, scalar) = types::scalars(cx.result_ty(op, 0)?)?;
    let value = attr::get(op, "value").ok_or_else(|| invalid("expected the attribute `value`"))?;
    let items = match value {
        Attr::Dense(items, _) => items.as_slice(),
        single => std::slice::from_ref(single),
    };
    let words = constants(items, count, scalar)?;
    let out = match &words[..] {
        [first, rest @ ..] if rest.iter().all(|word| word == first) => {
            let value = cx.b().constant(scalar, *first);
            smallvec![value; count]
        }
        words => words.iter().map(|&bits| cx.b().constant(scalar, bits)).collect::<SmallVec<_>>(),
    };
    cx.define_values(op, out)
}

/// The bits of constants: all of them, or the one that all are.
pub(super) fn constants(items: &[Attr], count: usize, scalar: Scalar) -> Res<Vec<u64>> {
    let bits = items.iter().map(|item| bits(item, scalar)).collect::<Res<Vec<u64>>>()?;
    match bits[..] {
        [single] => Ok(vec![single; count]),
        _ if bits.len() == count => Ok(bits),
        _ => Err(invalid(format!("{} constants, expected {count}", bits.len()))),
    }
}

/// The bits of a constant.
pub(super) fn bits(attr: &Attr, scalar: Scalar) -> Res<u64> {
    let word = match *attr {
        Attr::Bool(b) if !scalar.is_float() => u64::from(b),
        Attr::Int(n, _) if !scalar.is_float() => n as u64,
        Attr::Float(x, _) if scalar.is_float() => {
            // The parser's number is one of the type's, so nothing is rounded here.
            let op = ConvertOp::new(K::FToF);
            phalanx_ir::eval::convert(op, Scalar::F64, scalar, x.to_bits())
        }
        _ => return Err(invalid(format!("a constant that is no {scalar}"))),
    };
    Ok(word & scalar.mask())
}
