//! One element of a matrix multiply-add (*OpCooperativeMatrixMulAddKHR*).

use super::float::{from_f64, to_f64};
use super::int::{sign_extend, zero_extend};
use crate::op::MulAddFlags;
use crate::types::Scalar;

/// Element types of a multiply-add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MulAddTypes {
    /// Of the left factor.
    pub a: Scalar,
    /// Of the right factor.
    pub b: Scalar,
    /// Of the addend.
    pub c: Scalar,
    /// Of the result.
    pub result: Scalar,
}

/// `c + Σ a * b` over a row of A and a column of B.
///
/// Integers are widened by the flags and the sum is exact, then taken modulo the result's width or,
/// with [`MulAddFlags::saturate`], clamped to its range. Floats are summed in `f64`, from `c` and in
/// the order of the pairs, and rounded once to the result.
pub fn mul_add(
    flags: MulAddFlags,
    types: MulAddTypes,
    pairs: impl IntoIterator<Item = (u64, u64)>,
    c: u64,
) -> u64 {
    if types.result.is_float() {
        let a = |x| to_real(types.a, flags.a_signed, x);
        let b = |x| to_real(types.b, flags.b_signed, x);
        let start = to_real(types.c, flags.c_signed, c);
        return from_f64(types.result, pairs.into_iter().fold(start, |sum, (x, y)| sum + a(x) * b(y)));
    }
    let a = |x| widen(types.a, flags.a_signed, x);
    let b = |x| widen(types.b, flags.b_signed, x);
    let start = widen(types.c, flags.c_signed, c);
    let sum = pairs.into_iter().fold(start, |sum, (x, y)| sum.wrapping_add(a(x).wrapping_mul(b(y))));
    let sum = if flags.saturate { clamp(types.result, flags.result_signed, sum) } else { sum };
    sum as u64 & types.result.mask()
}

fn widen(ty: Scalar, signed: bool, x: u64) -> i128 {
    if signed { i128::from(sign_extend(ty, x)) } else { i128::from(zero_extend(ty, x)) }
}

fn to_real(ty: Scalar, signed: bool, x: u64) -> f64 {
    if ty.is_float() { to_f64(ty, x) } else { widen(ty, signed, x) as f64 }
}

fn clamp(ty: Scalar, signed: bool, x: i128) -> i128 {
    let max = i128::from(ty.mask());
    if signed { x.clamp(-(max >> 1) - 1, max >> 1) } else { x.clamp(0, max) }
}
