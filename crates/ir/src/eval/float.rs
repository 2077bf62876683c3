//! Floating-point formats: exact decoding to `f64` and rounding once from an exact number.
//!
//! Every format is described by its widths and its largest finite number, and one routine rounds
//! to all of them. A conversion that went through a format between could round twice.

use crate::op::Rounding;
use crate::types::Scalar;
use std::cmp::Ordering;

/// A binary floating-point format.
#[derive(Clone, Copy, Debug)]
struct Format {
    /// Bits of the fraction.
    fraction: u32,
    /// Exponent bias.
    bias: i32,
    /// Bits of the largest finite number.
    max: u64,
    /// Bits of what overflow and infinity become.
    infinity: u64,
    /// Bits of the quiet NaN.
    nan: u64,
}

impl Format {
    const fn ieee(exponent: u32, fraction: u32) -> Self {
        let infinity = ((1 << exponent) - 1) << fraction;
        let nan = infinity | 1 << (fraction - 1);
        Self { fraction, bias: (1 << (exponent - 1)) - 1, max: infinity - 1, infinity, nan }
    }

    /// The format of a type; that of `f64` for what is not a float.
    const fn of(ty: Scalar) -> Self {
        match ty {
            Scalar::F16 => Self::ieee(5, 10),
            Scalar::BF16 => Self::ieee(8, 7),
            Scalar::F32 => Self::ieee(8, 23),
            Scalar::E5M2 => Self::ieee(5, 2),
            Scalar::E4M3 => Self { fraction: 3, bias: 7, max: 0x7e, infinity: 0x7f, nan: 0x7f },
            Scalar::F64 | Scalar::Bool | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => {
                Self::ieee(11, 52)
            }
        }
    }
}

/// The number `±magnitude * 2^exponent`, exactly. The magnitude is below `2^126`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exact {
    pub(super) negative: bool,
    pub(super) magnitude: u128,
    pub(super) exponent: i32,
}

impl Exact {
    /// The number that a finite `f64` is.
    fn from_f64(x: f64) -> Self {
        let bits = x.to_bits();
        let (biased, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
        let (magnitude, biased) = if biased == 0 { (fraction, 1) } else { (fraction | 1 << 52, biased) };
        Self {
            negative: x.is_sign_negative(),
            magnitude: u128::from(magnitude),
            exponent: biased as i32 - 1075,
        }
    }

    /// Rounds to a format.
    pub(super) fn round(self, ty: Scalar, rounding: Rounding, saturate: bool) -> u64 {
        let format = Format::of(ty);
        let sign = if self.negative { sign_bit(ty) } else { 0 };
        if self.magnitude == 0 {
            return sign;
        }
        let top = self.exponent + self.magnitude.ilog2() as i32;
        let exponent = top.max(1 - format.bias);
        let shift = exponent - format.fraction as i32 - self.exponent;
        let significand = shift_right(self.magnitude, shift, rounding);
        // The significand brings the hidden bit, and a carry out of it raises the exponent.
        let biased = i128::from(exponent + format.bias - 1) << format.fraction;
        let bits = biased + significand as i128;
        sign | if bits <= i128::from(format.max) {
            bits as u64
        } else if saturate && ty.bits() == 8 || rounding == Rounding::TowardZero {
            format.max
        } else {
            format.infinity
        }
    }
}

/// `magnitude / 2^shift`, rounded to an integer. A left shift is by at most the bits of a fraction.
fn shift_right(magnitude: u128, shift: i32, rounding: Rounding) -> u128 {
    if shift <= 0 {
        return magnitude << -shift;
    }
    if shift >= 128 {
        return 0;
    }
    let (whole, rest) = (magnitude >> shift, magnitude & ((1 << shift) - 1));
    let up = match rounding {
        Rounding::TowardZero => false,
        Rounding::NearestEven => match rest.cmp(&(1 << (shift - 1))) {
            Ordering::Less => false,
            Ordering::Equal => whole & 1 == 1,
            Ordering::Greater => true,
        },
    };
    whole + u128::from(up)
}

/// The sign bit of a type.
pub(super) fn sign_bit(ty: Scalar) -> u64 {
    1 << (ty.bits() - 1)
}

/// The value of a float, exactly; 0 for a type that is not a float.
#[inline]
pub fn to_f64(ty: Scalar, bits: u64) -> f64 {
    match ty {
        Scalar::F64 => f64::from_bits(bits),
        Scalar::F32 => f64::from(f32::from_bits(bits as u32)),
        Scalar::F16 | Scalar::BF16 | Scalar::E4M3 | Scalar::E5M2 => decode(ty, bits),
        Scalar::Bool | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => 0.0,
    }
}

fn decode(ty: Scalar, bits: u64) -> f64 {
    let format = Format::of(ty);
    let magnitude = bits & (sign_bit(ty) - 1);
    let fraction = magnitude & ((1 << format.fraction) - 1);
    let biased = (magnitude >> format.fraction) as i32;
    // A power of two within the range of f64 for each of these formats.
    let scale = |exponent: i32| {
        let exponent = exponent - format.bias - format.fraction as i32;
        f64::from_bits(((1023 + exponent) as u64) << 52)
    };
    let value = if magnitude > format.max {
        if magnitude == format.infinity && format.infinity != format.nan { f64::INFINITY } else { f64::NAN }
    } else if biased == 0 {
        fraction as f64 * scale(1)
    } else {
        (fraction | 1 << format.fraction) as f64 * scale(biased)
    };
    value.copysign(if bits & sign_bit(ty) == 0 { 1.0 } else { -1.0 })
}

/// Rounds the result of an operation to a float type, to nearest even. A NaN becomes the positive
/// quiet NaN.
pub fn from_f64(ty: Scalar, x: f64) -> u64 {
    // The sign of a NaN that an operation makes depends on the machine, so it must not be read.
    if x.is_nan() { Format::of(ty).nan } else { round_f64(ty, x, Rounding::NearestEven, false) }
}

/// Rounds to a float type. The sign of a NaN is kept. `saturate` gives the largest finite number
/// of an 8-bit float instead of overflow or infinity, and has no effect on other types.
pub fn round_f64(ty: Scalar, x: f64, rounding: Rounding, saturate: bool) -> u64 {
    let format = Format::of(ty);
    let sign = if x.is_sign_negative() { sign_bit(ty) } else { 0 };
    if x.is_nan() {
        sign | format.nan
    } else if x.is_infinite() {
        sign | if saturate && ty.bits() == 8 { format.max } else { format.infinity }
    } else {
        Exact::from_f64(x).round(ty, rounding, saturate)
    }
}

/// 1, -1, or positive zero for zeros and NaN.
pub(super) fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        0.0
    }
}

/// The operand whose order to the other is `wanted`; the other one if one is NaN.
pub(super) fn pick(ty: Scalar, x: u64, y: u64, wanted: Ordering) -> u64 {
    let (fx, fy) = (to_f64(ty, x), to_f64(ty, y));
    if fx.is_nan() || fy.partial_cmp(&fx) == Some(wanted) { y } else { x }
}

/// `x * 2^n`, rounded once.
pub(super) fn ldexp(ty: Scalar, x: u64, n: i32) -> u64 {
    let value = to_f64(ty, x);
    if !value.is_finite() {
        return from_f64(ty, value);
    }
    let exact = Exact::from_f64(value);
    // Beyond this every number is zero or overflows, and the sum stays far from the limits of i32.
    let exponent = exact.exponent + n.clamp(-5000, 5000);
    Exact { exponent, ..exact }.round(ty, Rounding::NearestEven, false)
}

/// `x + y` rounded to odd: to the neighbour whose last bit is 1 if inexact. Rounding that to a type
/// of at most 51 bits is the same as rounding the exact sum.
pub(super) fn add_to_odd(x: f64, y: f64) -> f64 {
    let sum = x + y;
    let part = sum - x;
    let error = (x - (sum - part)) + (y - part);
    if error == 0.0 || !sum.is_finite() || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}
