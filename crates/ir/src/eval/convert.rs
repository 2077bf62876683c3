//! Conversions between scalar types, each rounded once.

use super::float::{Exact, round_f64, to_f64};
use super::int::{sign_extend, zero_extend};
use crate::op::{ConvertKind, ConvertOp};
use crate::types::Scalar;

/// Converts a scalar of type `from` to type `to`.
///
/// Overflow and infinity become infinity, or NaN in `e4m3`, unless the conversion saturates.
/// Rounding toward zero turns a finite number that is too large into the largest finite one.
pub fn convert(op: ConvertOp, from: Scalar, to: Scalar, bits: u64) -> u64 {
    let result = match op.kind {
        ConvertKind::SToS => sign_extend(from, bits) as u64,
        ConvertKind::UToU => zero_extend(from, bits),
        ConvertKind::FToS => float_to_signed(to, to_f64(from, bits)),
        ConvertKind::FToU => float_to_unsigned(to, to_f64(from, bits)),
        ConvertKind::SToF => {
            let value = sign_extend(from, bits);
            int_to_float(op, to, value < 0, value.unsigned_abs())
        }
        ConvertKind::UToF => int_to_float(op, to, false, zero_extend(from, bits)),
        ConvertKind::FToF => round_f64(to, to_f64(from, bits), op.rounding, op.saturate),
    };
    result & to.mask()
}

/// The same bits in another type of the same width.
pub fn bitcast(to: Scalar, bits: u64) -> u64 {
    bits & to.mask()
}

fn float_to_signed(to: Scalar, x: f64) -> u64 {
    let max = (to.mask() >> 1) as i64;
    (x as i64).clamp(-max - 1, max) as u64
}

fn float_to_unsigned(to: Scalar, x: f64) -> u64 {
    (x as u64).min(to.mask())
}

fn int_to_float(op: ConvertOp, to: Scalar, negative: bool, magnitude: u64) -> u64 {
    let exact = Exact { negative, magnitude: u128::from(magnitude), exponent: 0 };
    exact.round(to, op.rounding, op.saturate)
}
