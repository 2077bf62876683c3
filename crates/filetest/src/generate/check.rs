//! What a result of the CPU may be, given the interpreter's.
//!
//! docs/ir.md says of most operations that they are exact or correctly rounded: then both have the
//! same bits, but for NaNs, whose payload is unspecified. Of the rest each has a bound in units of
//! the last place, which is that of the function that computes it and never above the one of the
//! Vulkan specification ("Precision and Operation of SPIR-V Instructions"). The interpreter computes
//! these in `f64` and rounds, which adds half a unit.

use phalanx_ir::Scalar;
use phalanx_ir::eval::{from_f64, to_f64};

/// How results are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Check {
    /// All bits, those of NaNs too: the operation moves bits.
    Bits,
    /// The same number, with its sign if it is zero; any NaN for a NaN.
    Number,
    /// The same number or a zero of the other sign.
    AnyZero,
    /// The same, but anything where a NaN is expected: SPIR-V leaves the minimum of nothing but NaNs undefined.
    OfNumbers,
    /// So many units in the last place of an exact result; any NaN for a NaN.
    Ulps(f64),
    /// Two `f16` in a word, each as a number.
    Halves,
    /// The remainder of a division: exact, but where the quotient of 64-bit floats is 2^104 or more. There it
    /// is what Vulkan asks for, `x - y * trunc(x / y)`, whose error is that of the quotient times `y`, about
    /// 2^-52 of `x`; and all of it if the quotient is too large to be a number.
    Remainder,
    /// The numbers of all invocations, in any order.
    Set,
    /// Anything: it depends on the order of the invocations.
    Unspecified,
}

impl Check {
    /// Whether a result is right. The operands are those of the same component.
    pub(super) fn accepts(
        self,
        scalar: Scalar,
        operands: &dyn Fn() -> Vec<f64>,
        expected: u64,
        found: u64,
    ) -> bool {
        if expected == found || self == Self::Unspecified {
            return true;
        }
        if self == Self::Halves {
            let half = |word: u64, i: u32| word >> (16 * i) & 0xffff;
            return (0..2)
                .all(|i| Self::Number.accepts(Scalar::F16, operands, half(expected, i), half(found, i)));
        }
        if self == Self::Bits || !scalar.is_float() {
            return false;
        }
        let (x, y) = (to_f64(scalar, expected), to_f64(scalar, found));
        if x.is_nan() && self == Self::OfNumbers {
            return true;
        }
        if x.is_nan() || y.is_nan() {
            return x.is_nan() && y.is_nan();
        }
        match self {
            Self::Bits | Self::Number | Self::Halves | Self::Set | Self::Unspecified => false,
            Self::AnyZero | Self::OfNumbers => x == 0.0 && y == 0.0,
            Self::Ulps(bound) => is_near(scalar, x, y, bound + 0.5),
            Self::Remainder => {
                let operands = operands();
                let quotient = operands[0] / operands[1];
                let share = if quotient.is_infinite() { 1.0 } else { 2_f64.powi(-52) };
                let is_beyond = scalar == Scalar::F64 && quotient.abs() >= 2_f64.powi(104);
                is_beyond && (x - y).abs() <= operands[0].abs() * share
            }
        }
    }
}

/// The bits of a number in a set: one zero and one NaN.
pub(super) fn in_set(scalar: Scalar, bits: u64) -> u64 {
    let x = to_f64(scalar, bits);
    match scalar.is_float() {
        true if x.is_nan() => from_f64(scalar, f64::NAN),
        true if x == 0.0 => 0,
        _ => bits,
    }
}

/// Whether two numbers are at most so many units in the last place of the first apart. Infinity stands where
/// the number behind the largest would.
fn is_near(scalar: Scalar, x: f64, y: f64, ulps: f64) -> bool {
    let (least, greatest, fraction) = match scalar {
        Scalar::F16 => (-14, 15, 10),
        Scalar::F32 => (-126, 127, 23),
        _ => (-1022, 1023, 52),
    };
    if scalar == Scalar::F64 && !(x.is_finite() && y.is_finite()) {
        return x == y;
    }
    let finite = |x: f64| if x.is_infinite() { 2_f64.powi(greatest + 1).copysign(x) } else { x };
    let (x, y) = (finite(x), finite(y));
    let exponent = ((x.abs().to_bits() >> 52) as i32 - 1023).clamp(least, greatest);
    // Two factors: the least denormal of f64 is no power that `powi` gives.
    (x - y).abs() <= ulps * 2_f64.powi(exponent) * 2_f64.powi(-fraction)
}
