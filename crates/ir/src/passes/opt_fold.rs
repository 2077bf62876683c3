//! Folding: operations on constants, and operations that change nothing.
//!
//! ```text
//! %3: i32 = iadd %two, %two             →  %3 is the constant 4
//! %4: i32 = imul %x, %one               →  %4 is %x
//! %5: ptr<push> = ptr_add<scale=4> %p, %two   →  ptr_add<disp=8> %p
//! ```
//!
//! Constants are computed by [`eval`], which is the meaning of each operation, so folding never
//! changes a result. Identities are applied to integers only: with floats they would lose the sign
//! of zero or the payload of a NaN.

use crate::entities::Value;
use crate::eval;
use crate::module::{Function, InstInfo};
use crate::op::{BinaryOp, CompareOp, Op, UnaryOp};
use crate::types::{Scalar, Type};
use smallvec::SmallVec;

/// What an instruction with one result is replaced by.
#[derive(Debug, PartialEq)]
pub(super) enum Folded {
    /// A constant.
    Const(u64),
    /// A value that is there already.
    Same(Value),
    /// Another operation.
    Other(Op, SmallVec<[Value; 4]>),
}

/// An access through a view that is known to leave nothing of its matrix out, as one through a view that
/// does not clip. `args` are the operands in `func`, those of `info` in `old`.
pub(super) fn unclipped(
    func: &Function,
    old: &Function,
    info: &InstInfo,
    args: &[Value],
) -> Option<(Op, SmallVec<[Value; 4]>)> {
    let mut op = info.op.clone();
    let (access, matrix, object) = match &mut op {
        Op::MatLoadTensor { access, .. } => (access, info.results[0], Some(1)),
        Op::MatStoreTensor(access) => (access, info.args[1], None),
        _ => return None,
    };
    let view = access.view.as_mut().filter(|view| view.clips)?;
    view.clips = false;
    let m = old.ty(matrix).mat()?;
    let (rest, clip) = args.split_last_chunk::<4>()?;
    let [row, rows, col, cols] = clip.map(|v| func.const_bits(v));
    let is_whole = (row, col) == (Some(0), Some(0))
        && rows.is_some_and(|rows| rows >= m.rows.into())
        && cols.is_some_and(|cols| cols >= m.cols.into());
    let kept = rest.iter().enumerate().filter(|(i, _)| Some(*i) != object);
    is_whole.then(|| (op, kept.map(|(_, &v)| v).collect()))
}

/// Folds a pure operation on values of `func` with a result of type `ty`.
pub(super) fn fold(func: &Function, op: &Op, args: &[Value], ty: Type) -> Option<Folded> {
    match op {
        Op::PtrAdd { scale, disp } => return ptr_add(func, *scale, *disp, args),
        Op::Select => return select(func, args),
        _ => {}
    }
    let scalar = ty.scalar()?;
    let known: SmallVec<[Option<u64>; 4]> = args.iter().map(|&v| func.const_bits(v)).collect();
    if let Some(bits) = constant(func, op, args, &known, scalar) {
        return Some(Folded::Const(bits));
    }
    match *op {
        Op::Binary(op) if scalar.is_int() || scalar == Scalar::Bool => {
            identity(op, scalar, args, (known[0], known[1]))
        }
        Op::Unary(UnaryOp::Not) => match func.def(args[0]) {
            // Twice is not at all.
            inner if inner.op == Op::Unary(UnaryOp::Not) => Some(Folded::Same(inner.args[0])),
            _ => None,
        },
        Op::Compare(op) if args[0] == args[1] => reflexive(op).map(Folded::Const),
        _ => None,
    }
}

fn constant(func: &Function, op: &Op, args: &[Value], known: &[Option<u64>], ty: Scalar) -> Option<u64> {
    let arg = |k: usize| known.get(k).copied().flatten();
    let from = args.first().and_then(|&v| func.ty(v).scalar());
    match *op {
        Op::Unary(op) => Some(eval::unary(op, from?, arg(0)?)),
        Op::Binary(op) => {
            let (x, y) = (arg(0)?, arg(1)?);
            // A shift count may be wider than what is shifted; it counts modulo the width.
            let is_shift = matches!(op, BinaryOp::Shl | BinaryOp::Lshr | BinaryOp::Ashr);
            let y = if is_shift { y & u64::from(ty.bits() - 1) } else { y };
            Some(eval::binary(op, ty, x, y))
        }
        Op::Compare(op) => Some(eval::compare(op, from?, arg(0)?, arg(1)?).into()),
        Op::Fma => Some(eval::fma(ty, arg(0)?, arg(1)?, arg(2)?)),
        Op::Convert(op) => Some(eval::convert(op, from?, ty, arg(0)?)),
        Op::Bitcast => Some(eval::bitcast(ty, arg(0)?)),
        _ => None,
    }
}

/// `x op neutral` is `x`; `x op absorbing` is that.
fn identity(op: BinaryOp, ty: Scalar, args: &[Value], known: (Option<u64>, Option<u64>)) -> Option<Folded> {
    use BinaryOp as B;
    let (x, y) = (Folded::Same(args[0]), Folded::Same(args[1]));
    let all = ty.mask();
    match (op, known.0, known.1) {
        (B::Iadd | B::Or | B::Xor, Some(0), _) => Some(y),
        (B::Iadd | B::Isub | B::Or | B::Xor | B::Shl | B::Lshr | B::Ashr, _, Some(0)) => Some(x),
        (B::Imul, Some(1), _) => Some(y),
        (B::Imul | B::Sdiv | B::Udiv, _, Some(1)) => Some(x),
        (B::Umod | B::Srem | B::Smod, _, Some(1)) => Some(Folded::Const(0)),
        (B::Imul | B::And, Some(0), _) | (B::Imul | B::And, _, Some(0)) => Some(Folded::Const(0)),
        (B::And, Some(k), _) if k == all => Some(y),
        (B::And, _, Some(k)) if k == all => Some(x),
        (B::Or, Some(k), _) | (B::Or, _, Some(k)) if k == all => Some(Folded::Const(all)),
        (B::Isub | B::Xor, ..) if args[0] == args[1] => Some(Folded::Const(0)),
        (B::And | B::Or | B::Smin | B::Smax | B::Umin | B::Umax, ..) if args[0] == args[1] => Some(x),
        _ => None,
    }
}

/// A comparison of a value with itself. With floats it depends on NaN.
fn reflexive(op: CompareOp) -> Option<u64> {
    match op {
        CompareOp::Ieq | CompareOp::Sle | CompareOp::Ule => Some(1),
        CompareOp::Ine | CompareOp::Slt | CompareOp::Ult => Some(0),
        CompareOp::FordEq
        | CompareOp::FordNe
        | CompareOp::FordLt
        | CompareOp::FordLe
        | CompareOp::FunordEq
        | CompareOp::FunordNe
        | CompareOp::FunordLt
        | CompareOp::FunordLe => None,
    }
}

fn select(func: &Function, args: &[Value]) -> Option<Folded> {
    let [cond, x, y] = *args else { return None };
    match func.const_bits(cond) {
        _ if x == y => Some(Folded::Same(x)),
        Some(0) => Some(Folded::Same(y)),
        Some(_) => Some(Folded::Same(x)),
        None => None,
    }
}

/// Constant offsets are gathered in the displacement.
fn ptr_add(func: &Function, scale: i64, disp: i64, args: &[Value]) -> Option<Folded> {
    let (&ptr, index) = args.split_first()?;
    let known = index.first().map(|&v| (func.ty(v), func.const_bits(v)));
    let disp = match known {
        None => disp,
        Some((Type::Scalar(ty), Some(bits))) => {
            disp.wrapping_add(eval::sign_extend(ty, bits).wrapping_mul(scale))
        }
        Some(_) if scale == 0 => disp,
        Some(_) => return None,
    };
    if disp == 0 {
        return Some(Folded::Same(ptr));
    }
    let (op, args) = match &func.def(ptr).op {
        Op::PtrAdd { scale, disp: before } => {
            (Op::PtrAdd { scale: *scale, disp: disp.wrapping_add(*before) }, func.def(ptr).args.clone())
        }
        _ => (Op::PtrAdd { scale: 0, disp }, SmallVec::from_slice(&[ptr])),
    };
    Some(Folded::Other(op, args))
}
