//! `sin`, `cos` and `tan`.
//!
//! x = k · π/2 + r with |r| ≤ π/4, reduced in `f64` with π/2 in two parts. The first part has 25 bits, so
//! that k times it is exact for k < 2^28; the error left in r is about k · 2^-79, small beside the distance
//! of any `f32` below [`TRIG_LIMIT`] from a multiple of π/2. The polynomials work in `f32`, on r and its square.
//!
//! Both stages are separate loops, because a loop that mixes widths is vectorised at the width of the wider
//! type. Arguments beyond the limit are rare; their lanes are done again one by one, with the exact reduction
//! of the standard library.

use super::{
    LANES,
    num::{even_odd, flip_sign, horner, madd, round_scaled_f64, sign_bit},
};
use phalanx_polynomials::{COS, FRAC_PI_2_PARTS, SIN, TAN, TRIG_LIMIT};

/// |x| modulo π/2, and the quadrants left out; and whether any lane is beyond the limit (or NaN).
#[inline(always)]
fn reduce<const FUSED: bool>(x: &[f32; LANES]) -> ([f32; LANES], [u32; LANES], bool) {
    let (mut rest, mut quadrant) = ([0.0; LANES], [0; LANES]);
    let mut beyond = false;
    let [high, low] = FRAC_PI_2_PARTS;
    for i in 0..LANES {
        let wide = f64::from(x[i].abs());
        let (k, bits) = round_scaled_f64::<FUSED>(wide, std::f64::consts::FRAC_2_PI);
        let r = madd::<FUSED, f64>(k, -high, wide);
        rest[i] = madd::<FUSED, f64>(k, -low, r) as f32;
        quadrant[i] = bits as u32;
    }
    for v in x {
        beyond |= v.abs() > TRIG_LIMIT;
    }
    (rest, quadrant, beyond)
}

/// sin r for |r| ≤ π/4.
#[inline(always)]
fn sin_rest<const FUSED: bool>(r: f32, square: f32) -> f32 {
    let p = horner::<FUSED, f32, 3>(square, SIN);
    madd::<FUSED, f32>(p, square * r, r)
}

/// cos r for |r| ≤ π/4.
#[inline(always)]
fn cos_rest<const FUSED: bool>(square: f32) -> f32 {
    let p = horner::<FUSED, f32, 3>(square, COS);
    madd::<FUSED, f32>(p, square * square, madd::<FUSED, f32>(square, -0.5, 1.0))
}

/// The sine, or with quadrants counted from one further on the cosine, from what [`reduce`] left.
#[inline(always)]
fn sin_or_cos<const FUSED: bool>(r: f32, quadrant: u32) -> f32 {
    let square = r * r;
    let sin = sin_rest::<FUSED>(r, square);
    let cos = cos_rest::<FUSED>(square);
    flip_sign(if quadrant & 1 == 0 { sin } else { cos }, (quadrant & 2) << 30)
}

/// Sine.
#[inline(always)]
pub(super) fn sin<const FUSED: bool>(x: &[f32; LANES]) -> [f32; LANES] {
    let (rest, quadrant, beyond) = reduce::<FUSED>(x);
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        out[i] = flip_sign(sin_or_cos::<FUSED>(rest[i], quadrant[i]), sign_bit(x[i]));
    }
    if beyond { redo(x, out, f64::sin) } else { out }
}

/// Cosine.
#[inline(always)]
pub(super) fn cos<const FUSED: bool>(x: &[f32; LANES]) -> [f32; LANES] {
    let (rest, quadrant, beyond) = reduce::<FUSED>(x);
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        out[i] = sin_or_cos::<FUSED>(rest[i], quadrant[i].wrapping_add(1));
    }
    if beyond { redo(x, out, f64::cos) } else { out }
}

/// Tangent: of the rest, or in odd quadrants the negative reciprocal of that.
#[inline(always)]
pub(super) fn tan<const FUSED: bool>(x: &[f32; LANES]) -> [f32; LANES] {
    let (rest, quadrant, beyond) = reduce::<FUSED>(x);
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        let r = rest[i];
        let square = r * r;
        let p = even_odd::<FUSED, f32, 6>(square, square * square, TAN);
        let tan = madd::<FUSED, f32>(p, square * r, r);
        let value = if quadrant[i] & 1 == 0 { tan } else { -1.0 / tan };
        out[i] = flip_sign(value, sign_bit(x[i]));
    }
    if beyond { redo(x, out, f64::tan) } else { out }
}

/// The lanes of `out` whose argument is beyond the limit, computed again. By value, so that the caller's
/// array stays in registers.
#[cold]
#[inline(never)]
fn redo(x: &[f32; LANES], mut out: [f32; LANES], function: fn(f64) -> f64) -> [f32; LANES] {
    for (out, x) in out.iter_mut().zip(x) {
        if x.abs() > TRIG_LIMIT {
            *out = function(f64::from(*x)) as f32;
        }
    }
    out
}
