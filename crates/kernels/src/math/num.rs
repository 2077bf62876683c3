//! Arithmetic that the loop vectoriser turns into one vector instruction per line.
//!
//! Everything here avoids what would end vectorisation: calls (`round`, and `mul_add` without the FMA
//! instruction), saturating float-to-integer casts, and 64-bit arithmetic shifts, which x86 lacks before
//! AVX-512. Rounding and conversion go through the addition of a large power of two, after which the low bits
//! of the sum are the integer.

use phalanx_polynomials::{ROUND_F32, ROUND_F64};

/// 2^52: added to a smaller non-negative `f64`, leaves the nearest integer in the low bits of the sum.
const INTEGER_F64: f64 = 4_503_599_627_370_496.0;

/// What the polynomials need of `f32` and `f64` alike.
pub(super) trait Real: Copy {
    /// `a · b + c`, with one rounding if `FUSED`, with two otherwise.
    fn madd<const FUSED: bool>(a: Self, b: Self, c: Self) -> Self;
}

macro_rules! real {
    ($($ty:ident)*) => {$(
        impl Real for $ty {
            #[inline(always)]
            fn madd<const FUSED: bool>(a: Self, b: Self, c: Self) -> Self {
                if FUSED { a.mul_add(b, c) } else { a * b + c }
            }
        }
    )*};
}
real!(f32 f64);

/// `a · b + c`; see [`Real::madd`].
#[inline(always)]
pub(super) fn madd<const FUSED: bool, R: Real>(a: R, b: R, c: R) -> R {
    R::madd::<FUSED>(a, b, c)
}

/// The polynomial with the given coefficients, lowest power first, by Horner's rule: fewest operations,
/// longest chain.
#[inline(always)]
pub(super) fn horner<const FUSED: bool, R: Real, const N: usize>(x: R, coeffs: [R; N]) -> R {
    let mut sum = coeffs[N - 1];
    for i in (0..N - 1).rev() {
        sum = madd::<FUSED, R>(sum, x, coeffs[i]);
    }
    sum
}

/// The same polynomial, even and odd powers apart: one more multiplication than [`horner`] and half the
/// chain, which counts because a sub-group fills only a few registers and so leaves few independent chains.
#[inline(always)]
pub(super) fn even_odd<const FUSED: bool, R: Real, const N: usize>(x: R, square: R, coeffs: [R; N]) -> R {
    let mut top = coeffs[N - 1];
    let mut next = coeffs[N - 2];
    for i in (0..N - 2).rev() {
        let sum = madd::<FUSED, R>(top, square, coeffs[i]);
        top = next;
        next = sum;
    }
    madd::<FUSED, R>(top, x, next)
}

/// `x` limited to `low..=high`; a NaN stays one.
#[inline(always)]
pub(super) fn clamp(x: f32, low: f32, high: f32) -> f32 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// `x` limited to `low..=high`; a NaN stays one.
#[inline(always)]
pub(super) fn clamp_f64(x: f64, low: f64, high: f64) -> f64 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// The integer nearest to `x · scale`, ties to even, as float and as integer. Needs a product below 2^22 in
/// magnitude.
#[inline(always)]
pub(super) fn round_scaled<const FUSED: bool>(x: f32, scale: f32) -> (f32, i32) {
    let sum = madd::<FUSED, f32>(x, scale, ROUND_F32);
    (sum - ROUND_F32, sum.to_bits().wrapping_sub(ROUND_F32.to_bits()).cast_signed())
}

/// The integer nearest to `x · scale`, as float and as the low bits of the integer. Needs a product below
/// 2^51 in magnitude.
#[inline(always)]
pub(super) fn round_scaled_f64<const FUSED: bool>(x: f64, scale: f64) -> (f64, u64) {
    let sum = madd::<FUSED, f64>(x, scale, ROUND_F64);
    (sum - ROUND_F64, sum.to_bits())
}

/// The integer nearest to `x`. Needs 0 ≤ x < 2^52.
#[inline(always)]
pub(super) fn round_magnitude_f64(x: f64) -> f64 {
    (x + INTEGER_F64) - INTEGER_F64
}

/// `x · 2^k`, right also where the result is a denormal or the power alone overflows. Needs |k| ≤ 252.
///
/// Two factors, because 2^k itself may be no `f32`; the first product is exact, so the result is rounded
/// once.
#[inline(always)]
pub(super) fn scale(x: f32, k: i32) -> f32 {
    let half = k >> 1;
    x * power_of_two(half) * power_of_two(k.wrapping_sub(half))
}

/// 2^k for a `k` in -126..=127.
#[inline(always)]
pub(super) fn power_of_two(k: i32) -> f32 {
    f32::from_bits((k.wrapping_add(127) << 23).cast_unsigned())
}

/// The sign bit of `x`, alone.
#[inline(always)]
pub(super) fn sign_bit(x: f32) -> u32 {
    x.to_bits() & 0x8000_0000
}

/// `x` with its sign bit flipped where `sign` has one.
#[inline(always)]
pub(super) fn flip_sign(x: f32, sign: u32) -> f32 {
    f32::from_bits(x.to_bits() ^ sign)
}

/// The mantissa of a positive normal `x` in [√½, √2), less one (exact), and the exponent that belongs to it.
#[inline(always)]
pub(super) fn split_exponent_f64(x: f64) -> (f64, f64) {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const BIAS: u64 = 1023 << 52;
    // The bias is added first so that the shift may be a logical one.
    let biased = x.to_bits().wrapping_sub(SQRT_HALF).wrapping_add(BIAS) >> 52;
    let mantissa = f64::from_bits(x.to_bits().wrapping_sub(biased << 52).wrapping_add(BIAS));
    // An integer below 2^52, set into the low bits of 2^52, becomes a float by one subtraction.
    let exponent = f64::from_bits(biased | INTEGER_F64.to_bits()) - (INTEGER_F64 + 1023.0);
    (mantissa - 1.0, exponent)
}
