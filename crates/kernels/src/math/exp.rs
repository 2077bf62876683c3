//! `exp`, `exp2` and the hyperbolic functions that are made of them.
//!
//! e^x = 2^k · e^r with k the integer nearest to x / ln 2 and |r| ≤ ln 2 / 2. k · ln 2 is subtracted in two
//! parts, the first short enough for k times it to be exact (Cody and Waite). e^r is a polynomial whose first
//! two terms are 1 + r.
//!
//! The hyperbolic functions take |x| and set the sign at the end. Where the exponential form would cancel,
//! near zero, an odd polynomial stands in.

use super::num::{clamp, even_odd, flip_sign, horner, madd, power_of_two, round_scaled, scale, sign_bit};
use phalanx_polynomials::{EXP, EXP_LIMITS, EXP2, EXP2_LIMITS, LN2_PARTS, SINH, TANH};

/// e^x as `p · 2^k`, p in [0.7, 1.5]. Needs |x| ≤ 2^13.
#[inline(always)]
fn exp_parts<const FUSED: bool>(x: f32) -> (f32, i32) {
    let (k, power) = round_scaled::<FUSED>(x, std::f32::consts::LOG2_E);
    let [high, low] = LN2_PARTS;
    let r = madd::<FUSED, f32>(k, -high, x);
    let r = madd::<FUSED, f32>(k, -low, r);
    let square = r * r;
    let p = even_odd::<FUSED, f32, 5>(r, square, EXP);
    (madd::<FUSED, f32>(p, square, r) + 1.0, power)
}

/// e^x.
#[inline(always)]
pub(super) fn exp<const FUSED: bool>(x: f32) -> f32 {
    let (p, k) = exp_parts::<FUSED>(clamp(x, EXP_LIMITS[0], EXP_LIMITS[1]));
    scale(p, k)
}

/// 2^x.
#[inline(always)]
pub(super) fn exp2<const FUSED: bool>(x: f32) -> f32 {
    let x = clamp(x, EXP2_LIMITS[0], EXP2_LIMITS[1]);
    let (k, power) = round_scaled::<FUSED>(x, 1.0);
    let r = x - k;
    let p = even_odd::<FUSED, f32, 6>(r, r * r, EXP2);
    scale(madd::<FUSED, f32>(p, r, 1.0), power)
}

/// (e^x − e^−x) / 2.
#[inline(always)]
pub(super) fn sinh<const FUSED: bool>(x: f32) -> f32 {
    let magnitude = x.abs();
    let square = magnitude * magnitude;
    let p = horner::<FUSED, f32, 4>(square, SINH);
    let near = madd::<FUSED, f32>(p, square * magnitude, magnitude);
    let half = half_exp::<FUSED>(magnitude);
    let far = half - 0.25 / half;
    flip_sign(if magnitude < 1.0 { near } else { far }, sign_bit(x))
}

/// (e^x + e^−x) / 2.
#[inline(always)]
pub(super) fn cosh<const FUSED: bool>(x: f32) -> f32 {
    let half = half_exp::<FUSED>(x.abs());
    half + 0.25 / half
}

/// e^x / 2 for a non-negative x, without overflow where e^x alone would.
#[inline(always)]
fn half_exp<const FUSED: bool>(x: f32) -> f32 {
    let (p, k) = exp_parts::<FUSED>(clamp(x, 0.0, 90.0));
    scale(p, k - 1)
}

/// 1 − 2 / (e^2x + 1).
#[inline(always)]
pub(super) fn tanh<const FUSED: bool>(x: f32) -> f32 {
    // From 9.02 on the result rounds to one.
    let magnitude = clamp(x.abs(), 0.0, 10.0);
    let square = magnitude * magnitude;
    let p = even_odd::<FUSED, f32, 5>(square, square * square, TANH);
    let near = madd::<FUSED, f32>(p, square * magnitude, magnitude);
    let (p, k) = exp_parts::<FUSED>(magnitude + magnitude);
    let far = 1.0 - 2.0 / madd::<FUSED, f32>(p, power_of_two(k), 1.0);
    flip_sign(if magnitude < 0.625 { near } else { far }, sign_bit(x))
}
