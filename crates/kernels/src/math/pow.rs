//! `pow`, as 2^(y · log2 |x|) in `f64`, with the special values of C.
//!
//! The product reaches 128 and its error is multiplied by ln 2 times that, so the logarithm has to be good to
//! about 2^-33: more than an `f32` holds. In `f64` the rest is simple: denormal arguments are normal there,
//! and the conversion back rounds once, to a denormal or to infinity where it must.

use super::{
    LANES,
    log::log2_f64,
    num::{clamp_f64, even_odd, flip_sign, madd, round_scaled_f64, sign_bit},
};
use phalanx_polynomials::EXP2_F64;

/// 2^23: the sum of this and a smaller non-negative `f32` is an integer, with its lowest bit in the lowest
/// place.
const INTEGER_F32: f32 = 8_388_608.0;

/// 2^x with a relative error of 2^-31. Needs |x| ≤ 1000.
#[inline(always)]
fn exp2_f64<const FUSED: bool>(x: f64) -> f64 {
    let (k, bits) = round_scaled_f64::<FUSED>(x, 1.0);
    let r = x - k;
    let p = madd::<FUSED, f64>(even_odd::<FUSED, f64, 7>(r, r * r, EXP2_F64), r, 1.0);
    p * f64::from_bits(bits.wrapping_add(1023) << 52)
}

/// |x|^y; for |x| = 1 and an infinite y, NaN.
#[inline(always)]
fn pow_magnitude<const FUSED: bool>(x: f32, y: f32) -> f32 {
    let wide = f64::from(x.abs());
    let log = log2_f64::<FUSED>(wide);
    let log = if wide < f64::INFINITY { log } else { wide };
    let log = if wide == 0.0 { f64::NEG_INFINITY } else { log };
    // Beyond ±200 the result is 0 or infinite whatever the exact product.
    exp2_f64::<FUSED>(clamp_f64(log * f64::from(y), -200.0, 200.0)) as f32
}

/// x^y, from the same of |x|: the sign of an odd power, NaN for a root of a negative number, and what C fixes
/// to be one.
#[inline(always)]
fn finish(x: f32, y: f32, value: f32) -> f32 {
    // From 2^23 on every y is an integer, its own last bit telling whether an odd one; from 2^24 on all are
    // even, as the limit is.
    let (magnitude, exponent) = (x.abs(), y.abs());
    let exponent = if exponent < 16_777_216.0 { exponent } else { 16_777_216.0 };
    let shifted = exponent + INTEGER_F32;
    let large = exponent >= INTEGER_F32;
    let parity = if large { exponent } else { shifted }.to_bits();
    let rounded = if large { exponent } else { shifted - INTEGER_F32 };
    // The sign bit of x where y is odd.
    let sign = sign_bit(x) & (parity << 31);
    let value = if rounded == exponent {
        flip_sign(value, sign)
    } else if x < 0.0 && magnitude < f32::INFINITY {
        f32::NAN
    } else {
        value
    };
    // 1^y = x^0 = (−1)^±∞ = 1, even with a NaN as the other argument.
    let value = if magnitude == 1.0 && y.abs() == f32::INFINITY { 1.0 } else { value };
    let value = if x == 1.0 { 1.0 } else { value };
    if y == 0.0 { 1.0 } else { value }
}

/// x^y.
#[inline(always)]
pub(super) fn pow<const FUSED: bool>(x: &[f32; LANES], y: &[f32; LANES]) -> [f32; LANES] {
    // Two loops, because one that mixes widths is vectorised at the width of the wider type.
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        out[i] = pow_magnitude::<FUSED>(x[i], y[i]);
    }
    for i in 0..LANES {
        out[i] = finish(x[i], y[i], out[i]);
    }
    out
}
