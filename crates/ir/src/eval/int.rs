//! Integer helpers.

use crate::types::Scalar;

/// The value of an integer taken as signed.
#[inline]
pub fn sign_extend(ty: Scalar, x: u64) -> i64 {
    let shift = 64 - ty.bits();
    ((x << shift) as i64) >> shift
}

/// The value of an integer taken as unsigned.
#[inline]
pub fn zero_extend(ty: Scalar, x: u64) -> u64 {
    x & ty.mask()
}

/// The same, as a signed number of more bits.
pub(super) fn unsigned(ty: Scalar, x: u64) -> i64 {
    zero_extend(ty, x).cast_signed()
}

/// The sum of the products of the four low bytes of two numbers, each extended in its own way.
pub(super) fn dot_bytes(x: u64, y: u64, of_x: fn(Scalar, u64) -> i64, of_y: fn(Scalar, u64) -> i64) -> u64 {
    let products = (0..4).map(|i| of_x(Scalar::I8, x >> (8 * i)) * of_y(Scalar::I8, y >> (8 * i)));
    products.sum::<i64>().cast_unsigned()
}

/// Index of the lowest bit set; all ones for 0.
pub(super) fn find_lsb(x: u64) -> u64 {
    if x == 0 { u64::MAX } else { u64::from(x.trailing_zeros()) }
}

/// Index of the highest bit set; all ones for 0.
pub(super) fn find_msb(x: u64) -> u64 {
    x.checked_ilog2().map_or(u64::MAX, u64::from)
}

/// Index of the highest bit that differs from the sign; all ones for 0 and -1.
pub(super) fn find_signed_msb(x: i64) -> u64 {
    find_msb((if x < 0 { !x } else { x }) as u64)
}

/// Remainder with the sign of the divisor; 0 when dividing by 0.
pub(super) fn floor_mod(x: i64, y: i64) -> i64 {
    if y == 0 {
        return 0;
    }
    let rem = x.wrapping_rem(y);
    if rem != 0 && (rem < 0) != (y < 0) { rem + y } else { rem }
}

/// Upper half of the signed product.
pub(super) fn signed_mul_hi(ty: Scalar, x: u64, y: u64) -> u64 {
    let product = i128::from(sign_extend(ty, x)) * i128::from(sign_extend(ty, y));
    (product >> ty.bits()) as u64
}

/// Upper half of the unsigned product.
pub(super) fn unsigned_mul_hi(ty: Scalar, x: u64, y: u64) -> u64 {
    let product = u128::from(zero_extend(ty, x)) * u128::from(zero_extend(ty, y));
    (product >> ty.bits()) as u64
}
