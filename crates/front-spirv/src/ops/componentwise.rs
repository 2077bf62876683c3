//! Operands that are worked on component by component.
//!
//! Most instructions take scalars or vectors and treat each component alike, and some take
//! cooperative matrices, which are one IR value. These helpers read such operands as lists of IR
//! values and check what the IR's verifier would otherwise find.

use crate::cx::{Cx, Values};
use crate::diag::{Res, code, invalid, operand};
use crate::reader::{Id, Inst};
use phalanx_ir::{self as ir, ConvertKind, Scalar, Value};

/// What the components of an operand must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Bool,
    Int,
    /// A float with arithmetic: 16, 32 or 64 bits of IEEE 754.
    Float,
    /// A float, bfloat16 and the 8-bit formats included.
    AnyFloat,
    /// An integer or a float of any kind.
    Number,
    /// Any scalar.
    Any,
}

impl Class {
    /// Whether a scalar type is of the class.
    pub(super) fn has(self, s: Scalar) -> bool {
        match self {
            Self::Bool => s == Scalar::Bool,
            Self::Int => s.is_int(),
            Self::Float => s.is_arithmetic_float(),
            Self::AnyFloat => s.is_float(),
            Self::Number => s != Scalar::Bool,
            Self::Any => true,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int => "an integer",
            Self::Float => "f16, f32 or f64",
            Self::AnyFloat => "a float",
            Self::Number => "a number",
            Self::Any => "a scalar",
        }
    }
}

/// The components of an operand that is a scalar or a vector of a class.
pub(super) fn components(cx: &mut Cx<'_>, id: Id, class: Class) -> Res<Values> {
    let ty = cx.ty_of(id)?;
    if cx.types().coop_mat(ty).is_some() {
        let m = format!("operand %{id} is {}, which this does not accept", cx.types().describe(ty));
        return Err(operand(m));
    }
    elements(cx, id, class)
}

/// The components of an operand that is a scalar or a vector, or the one value of a cooperative
/// matrix; of a class.
pub(super) fn elements(cx: &mut Cx<'_>, id: Id, class: Class) -> Res<Values> {
    let ty = cx.ty_of(id)?;
    let is_list = cx.types().lanes(ty).is_some();
    if !is_list || !cx.types().scalar(ty).is_some_and(|s| class.has(s)) {
        let found = cx.types().describe(ty);
        let m = format!("operand %{id} is {found}, expected {} or a vector of such", class.name());
        return Err(operand(m));
    }
    cx.values(id)
}

/// The components of an operand that is a vector of `n`, of a class.
pub(super) fn vector(cx: &mut Cx<'_>, id: Id, class: Class, n: usize) -> Res<Values> {
    let values = components(cx, id, class)?;
    if values.len() != n {
        return Err(operand(format!("operand %{id} has {} components, expected {n}", values.len())));
    }
    Ok(values)
}

/// The value of an operand that is a scalar of a class.
pub(super) fn scalar(cx: &mut Cx<'_>, id: Id, class: Class) -> Res<Value> {
    Ok(vector(cx, id, class, 1)?[0])
}

/// Checks that two operands have as many components, of the same IR type.
pub(super) fn expect_alike(cx: &Cx<'_>, x: &[Value], y: &[Value]) -> Res<()> {
    expect_as_many(x, y)?;
    let (x, y) = (cx.func.ty(x[0]), cx.func.ty(y[0]));
    if x != y {
        return Err(operand(format!("the operands must have one type, found {x} and {y}")));
    }
    Ok(())
}

/// Checks that two operands have as many components.
pub(super) fn expect_as_many(x: &[Value], y: &[Value]) -> Res<()> {
    if x.is_empty() || x.len() != y.len() {
        let m = format!("the operands must have as many components, found {} and {}", x.len(), y.len());
        return Err(operand(m));
    }
    Ok(())
}

/// Applies `f` to each component.
pub(super) fn map(x: &[Value], mut f: impl FnMut(Value) -> Value) -> Values {
    x.iter().map(|&x| f(x)).collect()
}

/// Applies `f` to the components of two operands.
pub(super) fn zip(x: &[Value], y: &[Value], mut f: impl FnMut(Value, Value) -> Value) -> Values {
    x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect()
}

/// The scalar type of the result's components.
pub(super) fn result_scalar(cx: &Cx<'_>, inst: &Inst<'_>, class: Class) -> Res<Scalar> {
    let ty = cx.result_ty(inst)?;
    let scalar = if cx.types().lanes(ty).is_some() { cx.types().scalar(ty) } else { None };
    scalar.filter(|s| class.has(*s)).ok_or_else(|| {
        let found = cx.types().describe(ty);
        invalid(
            code::TYPE,
            format!("the result type is {found}, expected {} or a vector of such", class.name()),
        )
    })
}

/// The scalar type of a value that is a scalar.
pub(super) fn scalar_ty(cx: &Cx<'_>, v: Value) -> Res<Scalar> {
    match cx.func.ty(v) {
        ir::Type::Scalar(s) => Ok(s),
        other => Err(operand(format!("expected a scalar, found {other}"))),
    }
}

/// An integer in another width: truncated, or extended by its sign if `signed`.
pub(super) fn resize(cx: &mut Cx<'_>, v: Value, to: Scalar, signed: bool) -> Value {
    if cx.func.ty(v) == ir::Type::Scalar(to) {
        return v;
    }
    let kind = if signed { ConvertKind::SToS } else { ConvertKind::UToU };
    cx.b().convert(kind, v, to)
}

/// A float in another format.
pub(super) fn refloat(cx: &mut Cx<'_>, v: Value, to: Scalar) -> Value {
    if cx.func.ty(v) == ir::Type::Scalar(to) {
        return v;
    }
    cx.b().convert(ConvertKind::FToF, v, to)
}

/// A float constant of type `f16`, `f32` or `f64`.
pub(super) fn float(cx: &mut Cx<'_>, ty: Scalar, x: f64) -> Value {
    cx.constant(ty, ir::eval::from_f64(ty, x))
}
