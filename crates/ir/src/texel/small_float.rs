//! Floats without a sign, with an exponent of 5 bits.

/// Least exponent of a normal number.
const MIN_EXPONENT: i32 = -14;

/// The exponent field of infinities and NaNs.
const SPECIAL: u32 = 31;

/// The value of a float with so many bits of mantissa below its exponent.
pub(super) fn decode(raw: u32, mantissa_bits: u32) -> f32 {
    let (exponent, mantissa) = (raw >> mantissa_bits & SPECIAL, raw & ((1 << mantissa_bits) - 1));
    let unit = MIN_EXPONENT - mantissa_bits as i32;
    let value = match exponent {
        0 => f64::from(mantissa) * exp2(unit),
        SPECIAL if mantissa == 0 => f64::INFINITY,
        SPECIAL => f64::NAN,
        _ => f64::from(mantissa | 1 << mantissa_bits) * exp2(unit + exponent as i32 - 1),
    };
    value as f32
}

/// The nearest float. What is too large becomes the largest finite one, and what is negative zero.
pub(super) fn encode(x: f32, mantissa_bits: u32) -> u32 {
    let infinity = SPECIAL << mantissa_bits;
    if x.is_nan() {
        return infinity | 1 << (mantissa_bits - 1);
    }
    if x <= 0.0 {
        return 0;
    }
    if x.is_infinite() {
        return infinity;
    }
    // In units of the last place: a carry out of the mantissa raises the exponent, as it should.
    let exponent = exponent_of(x).max(MIN_EXPONENT);
    let units = (f64::from(x) * exp2(mantissa_bits as i32 - exponent)).round_ties_even();
    let rounded = (((exponent - MIN_EXPONENT) as u32) << mantissa_bits) + units as u32;
    rounded.min(infinity - 1)
}

/// Bits of a mantissa, and bias, of the shared-exponent format.
const SHARED_MANTISSA: i32 = 9;
const SHARED_BIAS: i32 = 15;

/// Its largest mantissa.
const SHARED_MAX: f64 = 511.0;

/// Red, green and blue of a word with a shared exponent, and alpha 1.
pub(super) fn decode_shared(word: u32) -> [f32; 4] {
    let scale = exp2((word >> 27) as i32 - SHARED_BIAS - SHARED_MANTISSA);
    let [red, green, blue] = [0, 9, 18].map(|first| (f64::from(word >> first & 0x1ff) * scale) as f32);
    [red, green, blue, 1.0]
}

/// The word with the least exponent that the largest component fits.
pub(super) fn encode_shared(components: [f32; 3]) -> u32 {
    let largest = SHARED_MAX * exp2(SPECIAL as i32 - SHARED_BIAS - SHARED_MANTISSA);
    // `max` gives 0 for a NaN.
    let clamped = components.map(|x| f64::from(x).max(0.0).min(largest));
    let max = clamped.iter().copied().fold(0.0, f64::max);
    let mantissa = |x: f64, exponent: i32| (x * exp2(SHARED_MANTISSA + SHARED_BIAS - exponent)).round();
    let mut exponent = (exponent_of(max as f32) + 1 + SHARED_BIAS).max(0);
    if mantissa(max, exponent) > SHARED_MAX {
        exponent += 1;
    }
    let [red, green, blue] = clamped.map(|x| mantissa(x, exponent).min(SHARED_MAX) as u32);
    (exponent as u32) << 27 | blue << 18 | green << 9 | red
}

/// Two to a power within the normal numbers.
fn exp2(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The exponent of the highest bit of a finite positive number; of zero, one below all others.
fn exponent_of(x: f32) -> i32 {
    (f64::from(x).to_bits() >> 52) as i32 - 1023
}
