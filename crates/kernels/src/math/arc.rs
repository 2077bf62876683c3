//! `asin`, `acos`, `atan` and `atan2`.
//!
//! asin: for |x| ≤ ½ an odd polynomial; beyond, asin x = π/2 − 2 asin √((1 − x)/2), where (1 − x)/2 is exact.
//! acos takes the same two polynomial branches, so that it does not cancel near 1.
//!
//! atan: the smaller of |x| and |y| is divided by the larger, which leaves [0, 1] for an odd polynomial; the
//! octants are put back by sums with π/2 and π.

use std::f32::consts::{FRAC_PI_2, PI};

use super::num::{even_odd, flip_sign, horner, madd, sign_bit};
use phalanx_polynomials::{ASIN, ATAN, FRAC_PI_2_LOW, PI_LOW};

/// What asin and acos share: the arc sine of |x| up to ½, and beyond that of √((1 − |x|)/2); `true` if the latter.
#[inline(always)]
fn asin_parts<const FUSED: bool>(magnitude: f32) -> (f32, bool) {
    let far = magnitude > 0.5;
    let half = madd::<FUSED, f32>(magnitude, -0.5, 0.5);
    let square = if far { half } else { magnitude * magnitude };
    let root = if far { half.sqrt() } else { magnitude };
    let p = horner::<FUSED, f32, 5>(square, ASIN);
    (madd::<FUSED, f32>(p * root, square, root), far)
}

/// Arc sine; NaN outside [-1, 1].
#[inline(always)]
pub(super) fn asin<const FUSED: bool>(x: f32) -> f32 {
    let (arc, far) = asin_parts::<FUSED>(x.abs());
    let value = if far { FRAC_PI_2 - (2.0 * arc - FRAC_PI_2_LOW) } else { arc };
    flip_sign(value, sign_bit(x))
}

/// Arc cosine; NaN outside [-1, 1].
#[inline(always)]
pub(super) fn acos<const FUSED: bool>(x: f32) -> f32 {
    let (arc, far) = asin_parts::<FUSED>(x.abs());
    let twice = 2.0 * arc;
    let beyond = if x < 0.0 { PI - (twice - PI_LOW) } else { twice };
    let near = FRAC_PI_2 - (flip_sign(arc, sign_bit(x)) - FRAC_PI_2_LOW);
    if far { beyond } else { near }
}

/// Arc tangent.
#[inline(always)]
pub(super) fn atan<const FUSED: bool>(x: f32) -> f32 {
    let magnitude = x.abs();
    let steep = magnitude > 1.0;
    let ratio = if steep { 1.0 / magnitude } else { magnitude };
    let arc = atan_unit::<FUSED>(ratio);
    let value = if steep { FRAC_PI_2 - (arc - FRAC_PI_2_LOW) } else { arc };
    flip_sign(value, sign_bit(x))
}

/// Arc tangent of y / x in the quadrant of (x, y), with C's answers for zeros and infinities.
#[inline(always)]
pub(super) fn atan2<const FUSED: bool>(y: f32, x: f32) -> f32 {
    let (width, height) = (x.abs(), y.abs());
    let steep = height > width;
    let (low, high) = if steep { (width, height) } else { (height, width) };
    // 0/0 and ∞/∞ stand for the axis and the diagonal.
    let ratio = if high == 0.0 { 0.0 } else { low / high };
    let ratio = if low == f32::INFINITY { 1.0 } else { ratio };
    let arc = atan_unit::<FUSED>(ratio);
    let arc = if steep { FRAC_PI_2 - (arc - FRAC_PI_2_LOW) } else { arc };
    let arc = if sign_bit(x) != 0 { PI - (arc - PI_LOW) } else { arc };
    let arc = flip_sign(arc, sign_bit(y));
    // A comparison with a NaN is false above, so a NaN may have passed for a zero.
    if x.is_nan() || y.is_nan() { x + y } else { arc }
}

/// Arc tangent of an x in [0, 1].
#[inline(always)]
fn atan_unit<const FUSED: bool>(x: f32) -> f32 {
    let square = x * x;
    let p = even_odd::<FUSED, f32, 9>(square, square * square, ATAN);
    madd::<FUSED, f32>(p * x, square, x)
}
