//! `log`, `log2`, and the inverse hyperbolic functions that are made of a logarithm.
//!
//! x = 2^e · (1 + f) with 1 + f in [√½, √2), so that f is exact and no cancellation happens near x = 1. The
//! logarithm of 1 + f is a polynomial in f; the terms that a rounding would hurt most (f and −f²/2) are kept
//! out of it.
//!
//! The inverse hyperbolic functions work in `f64`, where x² and √(x² ± 1) need no care; their logarithm,
//! [`log2_f64`], is the one that `pow` uses.

use super::num::{even_odd, flip_sign, madd, sign_bit, split_exponent_f64};
use phalanx_polynomials::{LN2_PARTS, LOG, LOG2, LOG2_F64};

/// Mantissa of a positive x in [√½, √2), less one, and the exponent that belongs to it. Denormals are scaled
/// first.
#[inline(always)]
fn split_exponent(x: f32) -> (f32, f32) {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    let denormal = x < f32::MIN_POSITIVE;
    let bits = if denormal { x * 8_388_608.0 } else { x }.to_bits();
    let exponent = bits.wrapping_sub(SQRT_HALF).cast_signed() >> 23;
    let mantissa = f32::from_bits(bits.wrapping_sub((exponent << 23).cast_unsigned()));
    let exponent = if denormal { exponent - 23 } else { exponent };
    (mantissa - 1.0, exponent as f32)
}

/// `value` for a positive and finite x, else what C says: ∞ of ∞, −∞ of zeros, NaN of the negative and of
/// NaN.
#[inline(always)]
fn specials(x: f32, value: f32) -> f32 {
    // As an integer: LLVM makes of the float comparisons together a much longer test of the class of x.
    let value = if x.to_bits() == f32::INFINITY.to_bits() { f32::INFINITY } else { value };
    let value = if x > 0.0 { value } else { f32::NAN };
    if x == 0.0 { f32::NEG_INFINITY } else { value }
}

/// Natural logarithm.
#[inline(always)]
pub(super) fn log<const FUSED: bool>(x: f32) -> f32 {
    // The product of the first part with the exponent is exact.
    let [high, low] = LN2_PARTS;
    let (f, e) = split_exponent(x);
    let square = f * f;
    let p = even_odd::<FUSED, f32, 8>(f, square, LOG);
    let tail = madd::<FUSED, f32>(p * f, square, e * low);
    let tail = madd::<FUSED, f32>(square, -0.5, tail);
    specials(x, madd::<FUSED, f32>(e, high, f + tail))
}

/// Logarithm to base 2.
#[inline(always)]
pub(super) fn log2<const FUSED: bool>(x: f32) -> f32 {
    let (f, e) = split_exponent(x);
    let square = f * f;
    let p = even_odd::<FUSED, f32, 9>(f, square, LOG2);
    let tail = madd::<FUSED, f32>(f, std::f32::consts::LOG2_E, p * square);
    specials(x, e + tail)
}

/// Logarithm to base 2 of a positive normal x, with a relative error of 2^-35. Meaningless for other x, but
/// safe.
#[inline(always)]
pub(super) fn log2_f64<const FUSED: bool>(x: f64) -> f64 {
    let (f, e) = split_exponent_f64(x);
    let p = even_odd::<FUSED, f64, 13>(f, f * f, LOG2_F64);
    madd::<FUSED, f64>(f, p, e)
}

// The choices below are made in `f64` as well: a comparison of one width that selects at the other costs a
// conversion of masks.

/// ln (x + √(x² + 1)).
#[inline(always)]
pub(super) fn asinh<const FUSED: bool>(x: f32) -> f32 {
    let wide = f64::from(x.abs());
    let sum = wide + madd::<FUSED, f64>(wide, wide, 1.0).sqrt();
    let value = log2_f64::<FUSED>(sum) * std::f64::consts::LN_2;
    // Below 2^-12, 1 + x has lost too much of x; and asinh x = x − x³/6 rounds to x. Above comes ∞ or NaN.
    let value = if wide < 2.0_f64.powi(-12) { wide } else { value };
    let value = if wide < f64::INFINITY { value } else { wide };
    flip_sign(value as f32, sign_bit(x))
}

/// ln (x + √(x² − 1)); NaN below 1.
#[inline(always)]
pub(super) fn acosh<const FUSED: bool>(x: f32) -> f32 {
    let wide = f64::from(x);
    let sum = wide + madd::<FUSED, f64>(wide, wide, -1.0).sqrt();
    let value = log2_f64::<FUSED>(sum) * std::f64::consts::LN_2;
    let value = if wide < f64::INFINITY { value } else { wide };
    (if wide < 1.0 { f64::NAN } else { value }) as f32
}

/// ½ ln ((1 + x) / (1 − x)); ±∞ at ±1, NaN beyond.
#[inline(always)]
pub(super) fn atanh<const FUSED: bool>(x: f32) -> f32 {
    let wide = f64::from(x.abs());
    let ratio = (1.0 + wide) / (1.0 - wide);
    let value = log2_f64::<FUSED>(ratio) * (0.5 * std::f64::consts::LN_2);
    // Below 2^-12, 1 + x has lost too much of x; and atanh x = x + x³/3 rounds to x.
    let value = if wide < 2.0_f64.powi(-12) { wide } else { value };
    let value = if wide < 1.0 { value } else { f64::NAN };
    let value = if wide == 1.0 { f64::INFINITY } else { value };
    flip_sign(value as f32, sign_bit(x))
}
