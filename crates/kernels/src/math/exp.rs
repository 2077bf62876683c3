//! `exp`, `exp2` and the hyperbolic functions that are made of them.
//!
//! e^x = 2^k · e^r with k the integer nearest to x / ln 2 and |r| ≤ ln 2 / 2. k · ln 2 is subtracted in two
//! parts, the first short enough for k times it to be exact (Cody and Waite). e^r is a polynomial whose first
//! two terms are 1 + r; the coefficients here are minimax fits made by `fit.py`.
//!
//! The hyperbolic functions take |x| and set the sign at the end. Where the exponential form would cancel,
//! near zero, an odd polynomial stands in.

use super::num::{clamp, even_odd, flip_sign, horner, madd, power_of_two, round_scaled, scale, sign_bit};

/// ln 2 in two parts, of which the first has ten bits: times any integer below 2^14 it is exact.
pub const LN2_PARTS: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
/// (e^x - 1 - x) / x^2 between -(ln 2)/2 and (ln 2)/2, as a polynomial.
pub const EXP_COEFFICIENTS: [f32; 5] = [0.49999994, 0.16666517, 0.041668102, 0.0083691925, 0.0013838903];
/// Beyond these e^x is infinite, or below half of the least denormal.
pub const EXP_LIMITS: [f32; 2] = [-104.0, 89.0];

/// e^x as `p · 2^k`, p in [0.7, 1.5]. Needs |x| ≤ 2^13.
#[inline(always)]
fn exp_parts<const FUSED: bool>(x: f32) -> (f32, i32) {
    let (k, power) = round_scaled::<FUSED>(x, std::f32::consts::LOG2_E);
    let [high, low] = LN2_PARTS;
    let r = madd::<FUSED, f32>(k, -high, x);
    let r = madd::<FUSED, f32>(k, -low, r);
    let square = r * r;
    let p = even_odd::<FUSED, f32, 5>(r, square, EXP_COEFFICIENTS);
    (madd::<FUSED, f32>(p, square, r) + 1.0, power)
}

/// e^x.
#[inline(always)]
pub(super) fn exp<const FUSED: bool>(x: f32) -> f32 {
    let (p, k) = exp_parts::<FUSED>(clamp(x, EXP_LIMITS[0], EXP_LIMITS[1]));
    scale(p, k)
}

/// (2^x - 1) / x between -½ and ½, as a polynomial: what code that computes 2^x by itself needs.
pub const EXP2_COEFFICIENTS: [f32; 6] =
    [0.69314724, 0.24022655, 0.055502728, 0.009617067, 0.0013417995, 0.00015819572];
/// Beyond these 2^x is infinite, or below half of the least denormal.
pub const EXP2_LIMITS: [f32; 2] = [-151.0, 129.0];

/// 2^x.
#[inline(always)]
pub(super) fn exp2<const FUSED: bool>(x: f32) -> f32 {
    let x = clamp(x, EXP2_LIMITS[0], EXP2_LIMITS[1]);
    let (k, power) = round_scaled::<FUSED>(x, 1.0);
    let r = x - k;
    let p = even_odd::<FUSED, f32, 6>(r, r * r, EXP2_COEFFICIENTS);
    scale(madd::<FUSED, f32>(p, r, 1.0), power)
}

/// (e^x − e^−x) / 2.
#[inline(always)]
pub(super) fn sinh<const FUSED: bool>(x: f32) -> f32 {
    let magnitude = x.abs();
    let square = magnitude * magnitude;
    let p = horner::<FUSED, f32, 4>(square, [0.16666667, 0.0083333105, 0.00019842896, 2.7822132e-06]);
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
    let p = even_odd::<FUSED, f32, 5>(
        square,
        square * square,
        [-0.3333328, 0.13331406, -0.053736515, 0.020628167, -0.005692296],
    );
    let near = madd::<FUSED, f32>(p, square * magnitude, magnitude);
    let (p, k) = exp_parts::<FUSED>(magnitude + magnitude);
    let far = 1.0 - 2.0 / madd::<FUSED, f32>(p, power_of_two(k), 1.0);
    flip_sign(if magnitude < 0.625 { near } else { far }, sign_bit(x))
}
