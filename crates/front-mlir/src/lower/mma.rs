//! Matrices of the subgroup: `gpu.subgroup_mma_*`, those that landed upstream and those of the RFC.
//!
//! Which component belongs to which invocation is the target's answer.

use phalanx_ir::{
    BinaryOp as B, ConvertKind as K, MatType, MulAddFlags, Op as IrOp, Scalar, Type as IrType, UnaryOp as U,
    Use, Value,
};

use super::cx::Cx;
use super::place::{self, Place};
use super::value::{Idx, Val};
use super::{arith, attr, types};
use crate::ast::{Attr, Op, Type};
use crate::error::{Res, invalid, not_built, unsupported};

/// Translates an operation of this family.
pub(super) fn emit(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    match &*op.name {
        "gpu.subgroup_mma_load_matrix" => load(cx, op),
        "gpu.subgroup_mma_store_matrix" => store(cx, op),
        "gpu.subgroup_mma_compute" => compute(cx, op),
        "gpu.subgroup_mma_constant_matrix" => {
            let (ty, value) = (result_type(cx, op)?, cx.value(op, 0)?);
            if cx.func.ty(value) != ty.elem.into() {
                return Err(cx.wrong(op, 0, ty.elem.name()));
            }
            define(cx, op, IrOp::MatSplat, &[value], ty)
        }
        "gpu.subgroup_mma_elementwise" => elementwise(cx, op),
        "gpu.subgroup_mma_extract_thread_local" | "gpu.subgroup_mma_extract" => {
            let (matrix, ty) = cx.matrix(op, 0)?;
            let component = component(cx, op, 1)?;
            let out = cx.b().value(IrOp::MatExtract, &[matrix, component], ty.elem.into());
            cx.define(op, vec![Val::one(out)])
        }
        "gpu.subgroup_mma_insert_thread_local" | "gpu.subgroup_mma_insert" => {
            let (value, (matrix, ty)) = (cx.value(op, 0)?, cx.matrix(op, 1)?);
            if cx.func.ty(value) != ty.elem.into() {
                return Err(cx.wrong(op, 0, ty.elem.name()));
            }
            let component = component(cx, op, 2)?;
            define(cx, op, IrOp::MatInsert, &[matrix, component, value], ty)
        }
        "gpu.subgroup_mma_rotate" => rotate(cx, op),
        _ => Err(not_built()),
    }
}

/// The matrix that an operation gives.
fn result_type(cx: &Cx<'_>, op: &Op) -> Res<MatType> {
    match cx.result_ty(op, 0)? {
        Type::Mma(mma) => types::matrix(mma),
        other => {
            Err(invalid(format!("the result is {}, expected a !gpu.mma_matrix", types::describe(other))))
        }
    }
}

fn define(cx: &mut Cx<'_>, op: &Op, inner: IrOp, args: &[Value], ty: MatType) -> Res<()> {
    let out = cx.b().value(inner, args, ty.into());
    cx.define(op, vec![Val::Matrix(out)])
}

/// Whether the elements of a matrix say that they have a sign.
fn is_signed(ty: &Type) -> bool {
    matches!(ty, Type::Mma(mma) if types::is_signed(&mma.elem))
}

// ── memory ──

/// The pointer to the first element of a matrix in memory, and the bytes from a row (column) to the next:
/// `leadDimension` counts elements of the memref.
fn place(cx: &mut Cx<'_>, op: &Op, memory: usize, ty: MatType) -> Res<(Value, Value)> {
    let source = cx.memory(op, memory)?;
    let indices = place::indices(cx, op, memory + 1)?;
    if source.elem != ty.elem {
        return Err(unsupported(format!("a matrix of {} in memory of {}", ty.elem, source.elem)));
    }
    let Place::Pointer(pointer) = place::place(cx, &source, &indices)? else {
        return Err(unsupported("a matrix in private or constant memory"));
    };
    if source.strides.last().is_some_and(|&stride| stride != Idx::Const(1)) {
        return Err(unsupported("a matrix in memory whose innermost stride is not 1"));
    }
    let lead = attr::int(op, "leadDimension")?;
    let unit = i64::from(ty.elem.bytes()) * i64::from(source.lanes);
    let stride = lead.checked_mul(unit).filter(|_| lead >= 0);
    let stride = stride.ok_or_else(|| invalid(format!("leadDimension {lead}")))?;
    Ok((pointer, cx.b().i64(stride)))
}

fn load(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let ty = result_type(cx, op)?;
    let (pointer, stride) = place(cx, op, 0, ty)?;
    let inner = IrOp::MatLoad { column_major: attr::flag(op, "transpose"), flags: Default::default() };
    define(cx, op, inner, &[pointer, stride], ty)
}

fn store(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let (matrix, ty) = cx.matrix(op, 0)?;
    let (pointer, stride) = place(cx, op, 1, ty)?;
    let inner = IrOp::MatStore { column_major: attr::flag(op, "transpose"), flags: Default::default() };
    cx.b().effect(inner, &[pointer, matrix, stride]);
    Ok(())
}

// ── arithmetic ──

/// `A * B + C`. `a_transpose` and `b_transpose` say that an operand's type is that of the transpose of the factor.
fn compute(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let (a, b, (c, sum)) = (cx.matrix(op, 0)?, cx.matrix(op, 1)?, cx.matrix(op, 2)?);
    let a = factor(cx, a, attr::flag(op, "a_transpose"), Use::A);
    let b = factor(cx, b, attr::flag(op, "b_transpose"), Use::B);
    let (left, right) = (cx.func.ty(a).mat(), cx.func.ty(b).mat());
    let fits = left.zip(right).is_some_and(|(a, b)| {
        a.use_ == Use::A
            && b.use_ == Use::B
            && sum.use_ == Use::Accumulator
            && (a.rows, a.cols, b.cols) == (sum.rows, b.rows, sum.cols)
            && a.elem.is_float() == b.elem.is_float()
            && a.elem.is_float() == sum.elem.is_float()
    });
    if !fits {
        let found = |i| cx.operand_ty(op, i).map(types::describe).unwrap_or_default();
        let m =
            format!("the product of {} and {}, plus {}, does not fit together", found(0), found(1), found(2));
        return Err(invalid(m));
    }
    let sign = |i| cx.operand_ty(op, i).is_ok_and(is_signed);
    let flags = MulAddFlags {
        a_signed: sign(0),
        b_signed: sign(1),
        c_signed: sign(2),
        result_signed: sign(2),
        ..MulAddFlags::default()
    };
    define(cx, op, IrOp::MatMulAdd(flags), &[a, b, c], sum)
}

/// A factor, turned if its operand is the transpose.
fn factor(cx: &mut Cx<'_>, (value, ty): (Value, MatType), transposed: bool, use_: Use) -> Value {
    if !transposed {
        return value;
    }
    let turned = MatType { rows: ty.cols, cols: ty.rows, use_, ..ty };
    cx.b().value(IrOp::MatTranspose, &[value], turned.into())
}

fn elementwise(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let kind = attr::keyword(op, "opType")?;
    let (x, ty) = cx.matrix(op, 0)?;
    let result = result_type(cx, op)?;
    match kind {
        "negatef" => {
            let out = per_float(cx, ty, &[x], |cx, v, _| cx.b().unary(U::Fneg, v[0]));
            return cx.define(op, vec![Val::Matrix(out)]);
        }
        "negates" => {
            check_class(ty, false, kind)?;
            return define(cx, op, IrOp::Unary(U::Ineg), &[x], ty);
        }
        "extf" => {
            if !ty.elem.is_float() || !result.elem.is_float() || ty.elem.bits() >= result.elem.bits() {
                return Err(invalid(format!("extf from {} to {}", ty.elem, result.elem)));
            }
            let out = cx.b().convert(K::FToF, x, result.elem);
            return cx.define(op, vec![Val::Matrix(out)]);
        }
        _ => {}
    }
    let (y, other) = cx.matrix(op, 1)?;
    if other != ty {
        return Err(invalid("operands of different types"));
    }
    let float = match kind {
        "addf" => Some(B::Fadd),
        "subf" => Some(B::Fsub),
        "mulf" => Some(B::Fmul),
        "divf" => Some(B::Fdiv),
        _ => None,
    };
    if let Some(float) = float {
        check_class(ty, true, kind)?;
        let out = per_float(cx, ty, &[x, y], |cx, v, _| cx.exact(true).binary(float, v[0], v[1]));
        return cx.define(op, vec![Val::Matrix(out)]);
    }
    let int = match kind {
        "addi" => B::Iadd,
        "subi" => B::Isub,
        "muli" => B::Imul,
        "divs" => B::Sdiv,
        "divu" => B::Udiv,
        "maxf" | "minf" => {
            check_class(ty, true, kind)?;
            let out = per_float(cx, ty, &[x, y], |cx, v, ty| extremum(cx, ty, v, kind == "maxf"));
            return cx.define(op, vec![Val::Matrix(out)]);
        }
        kind => return Err(unsupported(format!("the elementwise operation {kind}"))),
    };
    check_class(ty, false, kind)?;
    define(cx, op, IrOp::Binary(int), &[x, y], ty)
}

fn check_class(ty: MatType, float: bool, kind: &str) -> Res<()> {
    if ty.elem.is_float() == float {
        return Ok(());
    }
    Err(invalid(format!("{kind} of elements of {}", ty.elem)))
}

/// Applies an operation to matrices of floats; those without arithmetic of their own become `f32`, and the result what
/// they were.
fn per_float(
    cx: &mut Cx<'_>,
    ty: MatType,
    values: &[Value],
    f: impl FnOnce(&mut Cx<'_>, &[Value], MatType) -> Value,
) -> Value {
    if ty.elem.is_arithmetic_float() {
        return f(cx, values, ty);
    }
    let wide: Vec<Value> = values.iter().map(|&v| cx.b().convert(K::FToF, v, Scalar::F32)).collect();
    let out = f(cx, &wide, ty.with_elem(Scalar::F32));
    cx.b().convert(K::FToF, out, ty.elem)
}

/// The greater or the less of two elements; NaN where one is.
fn extremum(cx: &mut Cx<'_>, ty: MatType, values: &[Value], max: bool) -> Value {
    let body = cx.func.new_block();
    let elem = IrType::Scalar(ty.elem);
    let outer = std::mem::replace(&mut cx.block, body);
    let params = cx.b().values(IrOp::Params, &[], &[IrType::I32, IrType::I32, elem, elem]);
    let out = arith::propagating(cx, max, params[2], params[3]);
    cx.b().effect(IrOp::Yield, &[out]);
    cx.block = outer;
    cx.b().value(IrOp::MatMap { body }, values, ty.into())
}

// ── components and rotation ──

/// The component that an operand names, or a literal in brackets.
fn component(cx: &mut Cx<'_>, op: &Op, first: usize) -> Res<Value> {
    let literal = match attr::get(op, "indices").or(attr::get(op, "index")) {
        Some(Attr::Int(n, _)) => Some(vec![i64::try_from(*n).unwrap_or(-1)]),
        Some(list) => attr::int_list(list),
        None => None,
    };
    let index = match (literal.as_deref(), op.operands.len().saturating_sub(first)) {
        (Some(&[n]), 0) => Idx::Const(n),
        (None, 1) => cx.index(op, first)?,
        _ => return Err(invalid("expected one index, that of a component")),
    };
    if index.known().is_some_and(|n| n < 0) {
        return Err(invalid("a negative index of a component"));
    }
    Ok(cx.narrow(index))
}

/// The RFC's first proposal. An offset below 0 counts as 0, and one beyond the size of a matrix as that.
fn rotate(cx: &mut Cx<'_>, op: &Op) -> Res<()> {
    let ((a, ty), (b, other), offset) = (cx.matrix(op, 0)?, cx.matrix(op, 1)?, cx.value(op, 2)?);
    if ty != other {
        return Err(invalid("operands of different types"));
    }
    let scalar = arith::scalar_of(cx, offset)?;
    if !scalar.is_int() {
        return Err(cx.wrong(op, 2, "an integer"));
    }
    let mut offset = offset;
    if scalar.bits() > 32 {
        // Clamped before it is narrowed, since it might wrap to an offset within the matrix.
        let (least, most) = (cx.b().constant(scalar, 0), cx.b().constant(scalar, ty.len()));
        offset = cx.b().binary(B::Smax, offset, least);
        offset = cx.b().binary(B::Smin, offset, most);
    }
    let offset = place::extend(cx, offset, true, Scalar::I32);
    define(cx, op, IrOp::MatRotate, &[a, b, offset], ty)
}
