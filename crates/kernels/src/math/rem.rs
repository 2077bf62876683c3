//! The floating-point remainders, exact where C's `fmod` is.
//!
//! With q the integer nearest to |x| / |y|, computed in `f64`, q · |y| is exact while q < 2^28, and so is the
//! difference from |x|, which lies within ±|y|/2 (a little more where the quotient was rounded over a half);
//! one addition of |y| makes it the remainder. Larger quotients, whose remainder few programs want, are left
//! to the standard library, lane by lane.

use super::{
    LANES,
    num::{flip_sign, madd, round_magnitude_f64, sign_bit},
};

/// The largest quotient for the vector path.
const LIMIT: f64 = 268_435_456.0;

/// Remainder with the sign of the dividend (`OpFRem`, C's `fmod`).
#[inline(always)]
pub(super) fn frem<const FUSED: bool>(x: &[f32; LANES], y: &[f32; LANES]) -> [f32; LANES] {
    let mut out = [0.0; LANES];
    let mut beyond = false;
    for i in 0..LANES {
        let dividend = f64::from(x[i].abs());
        // An infinite divisor leaves the dividend, as any very large one does.
        let divisor = f64::from(y[i].abs());
        let divisor = if divisor == f64::INFINITY { 1e300 } else { divisor };
        let quotient = dividend / divisor;
        beyond |= quotient > LIMIT;
        let whole = round_magnitude_f64(quotient);
        let rest = madd::<FUSED, f64>(whole, -divisor, dividend);
        let rest = if rest < 0.0 { rest + divisor } else { rest };
        out[i] = flip_sign(rest as f32, sign_bit(x[i]));
    }
    if beyond { redo(x, y, out) } else { out }
}

/// Remainder with the sign of the divisor (`OpFMod`, x − y · ⌊x / y⌋).
#[inline(always)]
pub(super) fn fmod<const FUSED: bool>(x: &[f32; LANES], y: &[f32; LANES]) -> [f32; LANES] {
    let mut out = frem::<FUSED>(x, y);
    for i in 0..LANES {
        let rest = out[i];
        let moved = if sign_bit(rest) == sign_bit(y[i]) { rest } else { rest + y[i] };
        // A zero takes the divisor's sign, as the sum with it may not.
        out[i] = if rest == 0.0 { flip_sign(0.0, sign_bit(y[i])) } else { moved };
    }
    out
}

/// The lanes of `out` whose quotient is beyond the limit, computed again. By value, so that the caller's
/// array stays in registers.
#[cold]
#[inline(never)]
fn redo(x: &[f32; LANES], y: &[f32; LANES], mut out: [f32; LANES]) -> [f32; LANES] {
    for i in 0..LANES {
        if f64::from(x[i].abs()) / f64::from(y[i].abs()) > LIMIT {
            out[i] = x[i] % y[i];
        }
    }
    out
}
