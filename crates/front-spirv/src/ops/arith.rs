//! Integer and float arithmetic, bits, comparisons, vector and matrix algebra.
//!
//! Instructions that do the same scalar operation to each component are a table, [`rule`]; the rest
//! is in the submodules.

mod algebra;
mod bits;
mod format;
mod wide;

pub(super) use algebra::{Matrix, sum_of_products};
pub(super) use format::FloatFormat;

use super::componentwise::{self as cw, Class};
use crate::cx::{Cx, Values};
use crate::diag::{Res, code, unsupported};
use crate::reader::Inst;
use phalanx_ir::{self as ir, BinaryOp as B, CompareOp as C, UnaryOp as U, Value};
use spirv::Op;

/// Translates an instruction of this family.
pub(crate) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    if let Some(rule) = rule(inst.op) {
        return apply(cx, inst, rule);
    }
    match inst.op {
        Op::Any | Op::All => any_or_all(cx, inst),
        Op::IsFinite | Op::IsNormal | Op::SignBitSet => classify(cx, inst),
        Op::LessOrGreater | Op::Ordered | Op::Unordered => order(cx, inst),
        Op::FmaKHR => fma(cx, inst),
        Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended => wide::emit(cx, inst),
        Op::BitFieldInsert | Op::BitFieldSExtract | Op::BitFieldUExtract | Op::BitCount => {
            bits::emit(cx, inst)
        }
        Op::Dot
        | Op::VectorTimesScalar
        | Op::MatrixTimesScalar
        | Op::VectorTimesMatrix
        | Op::MatrixTimesVector
        | Op::MatrixTimesMatrix
        | Op::OuterProduct => algebra::emit(cx, inst),
        _ => Err(unsupported(code::OPCODE, format!("{} is not supported", inst.name()))),
    }
}

/// One scalar operation for each component.
#[derive(Clone, Copy)]
enum Rule {
    Unary(U, Class),
    Binary(B, Class),
    /// Also on cooperative matrices.
    MatUnary(U, Class),
    /// Also on cooperative matrices.
    MatBinary(B, Class),
    /// The second operand may have another width.
    Shift(B),
    Compare(C, Class),
    /// With the operands exchanged.
    Swapped(C, Class),
}

/// The rule of an instruction, if it has one.
///
/// Cooperative matrices take what SPV_KHR_cooperative_matrix lists: negation, addition,
/// subtraction, multiplication and division. SPV_NV_cooperative_matrix lists less; we give both the
/// same.
fn rule(op: Op) -> Option<Rule> {
    use Class::{Bool, Float, Int};
    Some(match op {
        Op::SNegate => Rule::MatUnary(U::Ineg, Int),
        Op::FNegate => Rule::MatUnary(U::Fneg, Float),
        Op::IAdd => Rule::MatBinary(B::Iadd, Int),
        Op::FAdd => Rule::MatBinary(B::Fadd, Float),
        Op::ISub => Rule::MatBinary(B::Isub, Int),
        Op::FSub => Rule::MatBinary(B::Fsub, Float),
        Op::IMul => Rule::MatBinary(B::Imul, Int),
        Op::FMul => Rule::MatBinary(B::Fmul, Float),
        Op::UDiv => Rule::MatBinary(B::Udiv, Int),
        Op::SDiv => Rule::MatBinary(B::Sdiv, Int),
        Op::FDiv => Rule::MatBinary(B::Fdiv, Float),
        Op::UMod => Rule::Binary(B::Umod, Int),
        Op::SRem => Rule::Binary(B::Srem, Int),
        Op::SMod => Rule::Binary(B::Smod, Int),
        Op::FRem => Rule::Binary(B::Frem, Float),
        Op::FMod => Rule::Binary(B::Fmod, Float),
        Op::Not => Rule::Unary(U::Not, Int),
        Op::BitReverse => Rule::Unary(U::BitReverse, Int),
        Op::BitwiseOr => Rule::Binary(B::Or, Int),
        Op::BitwiseXor => Rule::Binary(B::Xor, Int),
        Op::BitwiseAnd => Rule::Binary(B::And, Int),
        Op::ShiftRightLogical => Rule::Shift(B::Lshr),
        Op::ShiftRightArithmetic => Rule::Shift(B::Ashr),
        Op::ShiftLeftLogical => Rule::Shift(B::Shl),
        Op::LogicalNot => Rule::Unary(U::Not, Bool),
        Op::LogicalOr => Rule::Binary(B::Or, Bool),
        Op::LogicalAnd => Rule::Binary(B::And, Bool),
        Op::LogicalEqual => Rule::Compare(C::Ieq, Bool),
        Op::LogicalNotEqual => Rule::Compare(C::Ine, Bool),
        Op::IsNan => Rule::Unary(U::IsNan, Float),
        Op::IsInf => Rule::Unary(U::IsInf, Float),
        _ => return comparison(op),
    })
}

fn comparison(op: Op) -> Option<Rule> {
    use Class::{Float, Int};
    Some(match op {
        Op::IEqual => Rule::Compare(C::Ieq, Int),
        Op::INotEqual => Rule::Compare(C::Ine, Int),
        Op::UGreaterThan => Rule::Swapped(C::Ult, Int),
        Op::SGreaterThan => Rule::Swapped(C::Slt, Int),
        Op::UGreaterThanEqual => Rule::Swapped(C::Ule, Int),
        Op::SGreaterThanEqual => Rule::Swapped(C::Sle, Int),
        Op::ULessThan => Rule::Compare(C::Ult, Int),
        Op::SLessThan => Rule::Compare(C::Slt, Int),
        Op::ULessThanEqual => Rule::Compare(C::Ule, Int),
        Op::SLessThanEqual => Rule::Compare(C::Sle, Int),
        Op::FOrdEqual => Rule::Compare(C::FordEq, Float),
        Op::FUnordEqual => Rule::Compare(C::FunordEq, Float),
        Op::FOrdNotEqual => Rule::Compare(C::FordNe, Float),
        Op::FUnordNotEqual => Rule::Compare(C::FunordNe, Float),
        Op::FOrdLessThan => Rule::Compare(C::FordLt, Float),
        Op::FUnordLessThan => Rule::Compare(C::FunordLt, Float),
        Op::FOrdGreaterThan => Rule::Swapped(C::FordLt, Float),
        Op::FUnordGreaterThan => Rule::Swapped(C::FunordLt, Float),
        Op::FOrdLessThanEqual => Rule::Compare(C::FordLe, Float),
        Op::FUnordLessThanEqual => Rule::Compare(C::FunordLe, Float),
        Op::FOrdGreaterThanEqual => Rule::Swapped(C::FordLe, Float),
        Op::FUnordGreaterThanEqual => Rule::Swapped(C::FunordLe, Float),
        _ => return None,
    })
}

fn apply(cx: &mut Cx<'_>, inst: &Inst<'_>, rule: Rule) -> Res<()> {
    let out = match rule {
        Rule::Unary(op, class) => {
            let x = cw::components(cx, inst.arg(0)?, class)?;
            cw::map(&x, |x| cx.b().unary(op, x))
        }
        Rule::MatUnary(op, class) => {
            let x = cw::elements(cx, inst.arg(0)?, class)?;
            cw::map(&x, |x| cx.b().unary(op, x))
        }
        Rule::Binary(op, class) => {
            let (x, y) = pair(cx, inst, class)?;
            cw::zip(&x, &y, |x, y| cx.b().binary(op, x, y))
        }
        Rule::MatBinary(op, class) => {
            let x = cw::elements(cx, inst.arg(0)?, class)?;
            let y = cw::elements(cx, inst.arg(1)?, class)?;
            cw::expect_alike(cx, &x, &y)?;
            cw::zip(&x, &y, |x, y| cx.b().binary(op, x, y))
        }
        Rule::Shift(op) => {
            let x = cw::components(cx, inst.arg(0)?, Class::Int)?;
            let y = cw::components(cx, inst.arg(1)?, Class::Int)?;
            cw::expect_as_many(&x, &y)?;
            cw::zip(&x, &y, |x, y| cx.b().binary(op, x, y))
        }
        Rule::Compare(op, class) => {
            let (x, y) = pair(cx, inst, class)?;
            cw::zip(&x, &y, |x, y| cx.b().compare(op, x, y))
        }
        Rule::Swapped(op, class) => {
            let (x, y) = pair(cx, inst, class)?;
            cw::zip(&x, &y, |x, y| cx.b().compare(op, y, x))
        }
    };
    cx.define_values(inst, &out)
}

/// The first two operands: scalars or vectors of one type.
fn pair(cx: &mut Cx<'_>, inst: &Inst<'_>, class: Class) -> Res<(Values, Values)> {
    let x = cw::components(cx, inst.arg(0)?, class)?;
    let y = cw::components(cx, inst.arg(1)?, class)?;
    cw::expect_alike(cx, &x, &y)?;
    Ok((x, y))
}

fn any_or_all(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let x = cw::components(cx, inst.arg(0)?, Class::Bool)?;
    let op = if inst.op == Op::Any { B::Or } else { B::And };
    let out = x[1..].iter().fold(x[0], |acc, &x| cx.b().binary(op, acc, x));
    cx.define_values(inst, &[out])
}

/// *OpIsFinite*, *OpIsNormal* and *OpSignBitSet*, by the bits.
fn classify(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let xs = cw::components(cx, inst.arg(0)?, Class::Float)?;
    let mut out = Values::new();
    for x in xs {
        out.push(classify_one(cx, inst.op, x)?);
    }
    cx.define_values(inst, &out)
}

fn classify_one(cx: &mut Cx<'_>, op: Op, x: Value) -> Res<Value> {
    let format = FloatFormat::of(cx, x)?;
    let bits = cx.b().value(ir::Op::Bitcast, &[x], format.int.into());
    if op == Op::SignBitSet {
        let zero = cx.constant(format.int, 0);
        return Ok(cx.b().compare(C::Slt, bits, zero));
    }
    let (inf, least) =
        (cx.constant(format.int, format.infinity()), cx.constant(format.int, format.least_normal()));
    let abs = cx.constant(format.int, format.int.mask() >> 1);
    let abs = cx.b().binary(B::And, bits, abs);
    let finite = cx.b().compare(C::Ult, abs, inf);
    if op == Op::IsFinite {
        return Ok(finite);
    }
    let normal = cx.b().compare(C::Ule, least, abs);
    Ok(cx.b().binary(B::And, finite, normal))
}

/// Comparisons of *Kernel* that only ask for order.
fn order(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (x, y) = pair(cx, inst, Class::Float)?;
    let out = cw::zip(&x, &y, |x, y| match inst.op {
        Op::LessOrGreater => cx.b().compare(C::FordNe, x, y),
        Op::Ordered => ordered(cx, x, y),
        _ => {
            let both = ordered(cx, x, y);
            cx.b().unary(U::Not, both)
        }
    });
    cx.define_values(inst, &out)
}

fn ordered(cx: &mut Cx<'_>, x: Value, y: Value) -> Value {
    let x = cx.b().compare(C::FordEq, x, x);
    let y = cx.b().compare(C::FordEq, y, y);
    cx.b().binary(B::And, x, y)
}

fn fma(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (x, y) = pair(cx, inst, Class::Float)?;
    let z = cw::components(cx, inst.arg(2)?, Class::Float)?;
    cw::expect_alike(cx, &x, &z)?;
    let out: Values = (0..x.len()).map(|i| fused(cx, x[i], y[i], z[i])).collect();
    cx.define_values(inst, &out)
}

/// `x * y + z` with one rounding.
pub(super) fn fused(cx: &mut Cx<'_>, x: Value, y: Value, z: Value) -> Value {
    let ty = cx.func.ty(x);
    cx.b().value(ir::Op::Fma, &[x, y, z], ty)
}
