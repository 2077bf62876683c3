//! Arithmetic with two results: carry, borrow and the upper half of a product.
//!
//! The result is a structure of the lower and the upper part, each a scalar or a vector.

use super::pair;
use crate::cx::{Cx, Values};
use crate::diag::Res;
use crate::ops::componentwise::{self as cw, Class};
use crate::reader::Inst;
use phalanx_ir::{BinaryOp as B, CompareOp as C, Value};
use spirv::Op;

/// Translates an instruction with two results.
pub(super) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (x, y) = pair(cx, inst, Class::Int)?;
    let (mut low, mut high) = (Values::new(), Values::new());
    for (&x, &y) in x.iter().zip(&y) {
        let (l, h) = one(cx, inst.op, x, y)?;
        low.push(l);
        high.push(h);
    }
    low.extend(high);
    cx.define_values(inst, &low)
}

fn one(cx: &mut Cx<'_>, op: Op, x: Value, y: Value) -> Res<(Value, Value)> {
    match op {
        Op::IAddCarry => {
            let sum = cx.b().binary(B::Iadd, x, y);
            let carry = cx.b().compare(C::Ult, sum, x);
            Ok((sum, bit(cx, carry, x)?))
        }
        Op::ISubBorrow => {
            let difference = cx.b().binary(B::Isub, x, y);
            let borrow = cx.b().compare(C::Ult, x, y);
            Ok((difference, bit(cx, borrow, x)?))
        }
        _ => {
            let upper = if op == Op::UMulExtended { B::UmulHi } else { B::SmulHi };
            Ok((cx.b().binary(B::Imul, x, y), cx.b().binary(upper, x, y)))
        }
    }
}

/// 1 or 0 in the type of `like`.
fn bit(cx: &mut Cx<'_>, truth: Value, like: Value) -> Res<Value> {
    let ty = cw::scalar_ty(cx, like)?;
    let (one, zero) = (cx.constant(ty, 1), cx.constant(ty, 0));
    Ok(cx.b().select(truth, one, zero))
}
