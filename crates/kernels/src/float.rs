//! The small floating-point formats, branch-free on binary32.
//!
//! Tiles keep f16, e4m3 and e5m2 elements widened to binary32, always holding a representable value. So there
//! are two steps: `round_*` brings any binary32 to the nearest representable one (still a binary32), and
//! `*_bits` encodes a representable one. Without branches, loops over these functions become vector code.
//!
//! Rounding is to nearest, ties to even. Normal results are rounded by integer addition on the bits; results
//! below the smallest normal number by adding and subtracting a constant whose last place is the format's
//! quantum.

/// What becomes of a value beyond the largest finite one.
const INFINITY: u32 = 0x7f80_0000;
const QUIET: u32 = 0x0040_0000;
const NAN: u32 = 0x7fc0_0000;

/// Bits of 2^`exp` as a binary32.
const fn exp2_bits(exp: i32) -> u32 {
    ((exp + 127) as u32) << 23
}

/// Rounds to a format of `MANT` mantissa bits and smallest normal exponent `EMIN`. Magnitudes that round above
/// `max` (bits) become `overflow` (bits).
#[inline(always)]
fn round<const MANT: u32, const EMIN: i32>(x: f32, max: u32, overflow: u32) -> f32 {
    let bits = x.to_bits();
    let (sign, abs) = (bits & 0x8000_0000, bits & 0x7fff_ffff);
    let shift = 23 - MANT;
    let normal = (abs + (1 << (shift - 1)) - 1 + ((abs >> shift) & 1)) & !((1 << shift) - 1);
    let magic = f32::from_bits(exp2_bits(EMIN - MANT as i32 + 23));
    let subnormal = ((f32::from_bits(abs) + magic) - magic).to_bits();
    let rounded = if abs < exp2_bits(EMIN) { subnormal } else { normal };
    let clamped = if rounded > max { overflow } else { rounded };
    let result = if abs > INFINITY { (abs | QUIET) & !((1 << shift) - 1) } else { clamped };
    f32::from_bits(result | sign)
}

const F16_MAX: u32 = 65504.0_f32.to_bits();
const E4M3_MAX: u32 = 448.0_f32.to_bits();
const E5M2_MAX: u32 = 57344.0_f32.to_bits();

/// Rounds to binary16.
#[inline(always)]
pub(crate) fn round_f16(x: f32) -> f32 {
    round::<10, -14>(x, F16_MAX, INFINITY)
}

/// Rounds to bfloat16. It has the exponents of binary32, so subnormal numbers need no second path.
#[inline(always)]
pub(crate) fn round_bf16(x: f32) -> f32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) & 0xffff_0000;
    f32::from_bits(if bits & 0x7fff_ffff > INFINITY { (bits | QUIET) & 0xffff_0000 } else { rounded })
}

/// Rounds to e4m3; overflow and infinity become NaN.
#[inline(always)]
pub(crate) fn round_e4m3(x: f32) -> f32 {
    round::<3, -6>(x, E4M3_MAX, NAN)
}

/// Rounds to e4m3; overflow and infinity become the largest finite value.
#[inline(always)]
pub(crate) fn round_e4m3_sat(x: f32) -> f32 {
    round::<3, -6>(x, E4M3_MAX, E4M3_MAX)
}

/// Rounds to e5m2; overflow becomes infinity.
#[inline(always)]
pub(crate) fn round_e5m2(x: f32) -> f32 {
    round::<2, -14>(x, E5M2_MAX, INFINITY)
}

/// Rounds to e5m2; overflow and infinity become the largest finite value.
#[inline(always)]
pub(crate) fn round_e5m2_sat(x: f32) -> f32 {
    round::<2, -14>(x, E5M2_MAX, E5M2_MAX)
}

/// Encodes the magnitude of a representable value that is not special.
#[inline(always)]
fn encode<const MANT: u32, const EMIN: i32>(abs: u32) -> u32 {
    let magic = f32::from_bits(exp2_bits(EMIN - MANT as i32 + 23));
    let subnormal = (f32::from_bits(abs) + magic).to_bits().wrapping_sub(magic.to_bits());
    let normal = (abs >> (23 - MANT)).wrapping_sub(((126 + EMIN) as u32) << MANT);
    if abs < exp2_bits(EMIN) { subnormal } else { normal }
}

/// The bits of a representable binary16.
#[inline(always)]
pub(crate) fn f16_bits(x: f32) -> u16 {
    let bits = x.to_bits();
    let abs = bits & 0x7fff_ffff;
    let finite = encode::<10, -14>(abs);
    let special = 0x7c00 | ((abs >> 13) & 0x3ff);
    (if abs >= INFINITY { special } else { finite } | ((bits >> 16) & 0x8000)) as u16
}

/// The bits of a representable bfloat16.
#[inline(always)]
pub(crate) fn bf16_bits(x: f32) -> u16 {
    (x.to_bits() >> 16) as u16
}

/// The bits of a representable e4m3.
#[inline(always)]
pub(crate) fn e4m3_bits(x: f32) -> u8 {
    let bits = x.to_bits();
    let abs = bits & 0x7fff_ffff;
    let finite = encode::<3, -6>(abs);
    (if abs >= INFINITY { 0x7f } else { finite } | ((bits >> 24) & 0x80)) as u8
}

/// The bits of a representable e5m2.
#[inline(always)]
pub(crate) fn e5m2_bits(x: f32) -> u8 {
    let bits = x.to_bits();
    let abs = bits & 0x7fff_ffff;
    let finite = encode::<2, -14>(abs);
    let special = 0x7c | ((abs >> 21) & 3);
    (if abs >= INFINITY { special } else { finite } | ((bits >> 24) & 0x80)) as u8
}

/// The value of a binary16.
#[inline(always)]
pub(crate) fn f16_value(bits: u16) -> f32 {
    let abs = u32::from(bits & 0x7fff);
    let sign = u32::from(bits & 0x8000) << 16;
    let scaled = (f32::from_bits(abs << 13) * f32::from_bits(exp2_bits(112))).to_bits();
    let special = INFINITY | (abs << 13) | if abs > 0x7c00 { QUIET } else { 0 };
    f32::from_bits(if abs >= 0x7c00 { special } else { scaled } | sign)
}

/// The value of a bfloat16.
#[inline(always)]
pub(crate) fn bf16_value(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The value of an e4m3. The detour by binary16 avoids multiplying a subnormal binary32, which is slow.
#[inline(always)]
pub(crate) fn e4m3_value(bits: u8) -> f32 {
    let abs = u16::from(bits & 0x7f);
    let magnitude = (f16_value(abs << 7) * 256.0).to_bits();
    let sign = u32::from(bits & 0x80) << 24;
    f32::from_bits(if abs == 0x7f { NAN } else { magnitude } | sign)
}

/// The value of an e5m2, which is the upper half of a binary16.
#[inline(always)]
pub(crate) fn e5m2_value(bits: u8) -> f32 {
    f16_value(u16::from(bits) << 8)
}

/// Rounds the magnitude of a binary32 to an 8-bit format, all in words: a loop over it takes two thirds of the time
/// of one over a rounding and an encoding. Special values and overflow are the caller's.
#[inline(always)]
fn fp8_magnitude<const MANT: u32, const EMIN: i32>(abs: u32) -> u32 {
    let shift = 23 - MANT;
    let rounded = abs.wrapping_add((1 << (shift - 1)) - 1 + ((abs >> shift) & 1));
    let normal = (rounded >> shift).wrapping_sub(((126 + EMIN) as u32) << MANT);
    let magic = f32::from_bits(exp2_bits(EMIN - MANT as i32 + 23));
    let subnormal = (f32::from_bits(abs) + magic).to_bits().wrapping_sub(magic.to_bits());
    if abs < exp2_bits(EMIN) { subnormal } else { normal }
}

/// What [`round_e4m3`] and [`e4m3_bits`] make of the bits of a binary32, in one step.
#[inline(always)]
pub(crate) fn e4m3_word(bits: u32) -> u32 {
    let abs = bits & 0x7fff_ffff;
    // Half-way between the largest value and the one that would be next, which is even.
    const TIE: u32 = 464.0_f32.to_bits();
    let magnitude = if abs > TIE { 0x7f } else { fp8_magnitude::<3, -6>(abs) };
    magnitude | ((bits >> 24) & 0x80)
}

/// What [`round_e5m2`] and [`e5m2_bits`] make of the bits of a binary32, in one step.
#[inline(always)]
pub(crate) fn e5m2_word(bits: u32) -> u32 {
    let abs = bits & 0x7fff_ffff;
    const TIE: u32 = 61440.0_f32.to_bits();
    let special = if abs > INFINITY { 0x7e | ((abs >> 21) & 3) } else { 0x7c };
    let magnitude = if abs >= TIE { special } else { fp8_magnitude::<2, -14>(abs) };
    magnitude | ((bits >> 24) & 0x80)
}

/// The bits of the binary32 of the same value as an 8-bit float, its magnitude below the special ones.
#[inline(always)]
fn fp8_value<const MANT: u32, const EMIN: i32>(abs: u32) -> u32 {
    let normal = (abs << (23 - MANT)).wrapping_add(((126 + EMIN) as u32) << 23);
    let subnormal = (abs as i32 as f32 * f32::from_bits(exp2_bits(EMIN - MANT as i32))).to_bits();
    if abs < 1 << MANT { subnormal } else { normal }
}

/// The bits of [`e4m3_value`], of the bits in the lowest byte of a word.
#[inline(always)]
pub(crate) fn e4m3_value_word(bits: u32) -> u32 {
    let abs = bits & 0x7f;
    let magnitude = if abs == 0x7f { NAN } else { fp8_value::<3, -6>(abs) };
    magnitude | (bits & 0x80) << 24
}

/// The bits of [`e5m2_value`], of the bits in the lowest byte of a word.
#[inline(always)]
pub(crate) fn e5m2_value_word(bits: u32) -> u32 {
    let abs = bits & 0x7f;
    let special = INFINITY | abs << 21 | if abs > 0x7c { QUIET } else { 0 };
    let magnitude = if abs >= 0x7c { special } else { fp8_value::<2, -14>(abs) };
    magnitude | (bits & 0x80) << 24
}

/// Rounds to binary32 toward an odd last place, so that rounding once more to a format of at most 22 mantissa
/// bits gives what rounding once would have given.
#[inline(always)]
pub(crate) fn f64_to_f32_odd(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    if back == x || x.is_nan() || near.is_infinite() && x.is_infinite() {
        return near;
    }
    let bits = near.to_bits();
    // Step toward zero when `near` is the farther neighbour, then mark the result inexact.
    let truncated = if back.abs() > x.abs() { bits - 1 } else { bits };
    f32::from_bits(truncated | 1)
}

/// The bits of an integer that an f32 need not hold, where the integer is large: those below the first 24 of 32.
const LOW_BITS: u32 = 0xff;

/// As [`f64_to_f32_odd`]: exact below 2^24, else without the last 8 bits, but for a mark that there were some.
#[inline(always)]
pub(crate) fn i32_to_f32_odd(x: i32) -> f32 {
    let high = x & !(LOW_BITS as i32);
    // Of a negative number these bits are those above the next lower multiple; an odd multiple is right from both sides.
    let marked = if high == x { x } else { high | (LOW_BITS as i32 + 1) };
    let is_exact = x.unsigned_abs() < 1 << 24;
    (if is_exact { x } else { marked }) as f32
}

/// The same for integers without a sign.
#[inline(always)]
pub(crate) fn u32_to_f32_odd(x: u32) -> f32 {
    let high = x & !LOW_BITS;
    let marked = if high == x { x } else { high | (LOW_BITS + 1) };
    (if x < 1 << 24 { x } else { marked }) as f32
}

/// The same for 64 bits, of which the first 24 are kept wherever they begin.
pub(crate) fn u64_to_f32_odd(x: u64) -> f32 {
    let drop = 40_u32.saturating_sub(x.leading_zeros());
    let high = x >> drop;
    let is_exact = high << drop == x;
    ((high | u64::from(!is_exact)) << drop) as f32
}

/// The same with a sign.
pub(crate) fn i64_to_f32_odd(x: i64) -> f32 {
    let size = u64_to_f32_odd(x.unsigned_abs());
    if x < 0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_integers_keep_a_mark_of_what_they_lost() {
        // A bf16 has 8 bits: these lie a little above and below the middle of two, and on it.
        for (x, expected) in [
            (0x4040_0001_u32, 0x4080_0000_u32),
            (0x4040_0000, 0x4000_0000),
            (0x403f_ffff, 0x4000_0000),
            (0x7fc0_0001, 0x8000_0000),
            (0xffff_ffff, 0x8000_0000),
            (0x00ff_ffff, 0x0100_0000),
            (0x0101_0001, 0x0102_0000),
        ] {
            // 2^32 is one more than there is.
            let expected = if x == u32::MAX { 4_294_967_296.0 } else { expected as f32 };
            let rounded = |y: f32| bf16_value(bf16_bits(round_bf16(y)));
            assert_eq!(rounded(u32_to_f32_odd(x)), expected, "{x:#x}");
            assert_eq!(rounded(u64_to_f32_odd(u64::from(x))), expected, "{x:#x}");
            assert_eq!(rounded(u64_to_f32_odd(u64::from(x) << 32)), expected * 4_294_967_296.0, "{x:#x}");
            assert_eq!(rounded(i64_to_f32_odd(-i64::from(x))), -expected, "{x:#x}");
            if let Ok(x) = i32::try_from(x) {
                assert_eq!(rounded(i32_to_f32_odd(x)), expected, "{x:#x}");
                assert_eq!(rounded(i32_to_f32_odd(-x)), -expected, "{x:#x}");
            }
        }
        assert_eq!(i32_to_f32_odd(i32::MIN), -2_147_483_648.0);
        assert_eq!(i64_to_f32_odd(i64::MIN), -9_223_372_036_854_775_808.0);
        assert_eq!(u64_to_f32_odd(0), 0.0);
    }

    #[test]
    fn every_f16_round_trips() {
        for bits in 0..=u16::MAX {
            let expected = half::f16::from_bits(bits).to_f32();
            let value = f16_value(bits);
            assert!(value == expected || value.is_nan() && expected.is_nan(), "{bits:#x}");
            if !value.is_nan() {
                assert_eq!(f16_bits(value), bits);
                assert_eq!(f16_bits(round_f16(value)), bits);
            } else {
                assert!(half::f16::from_bits(f16_bits(round_f16(value))).is_nan());
            }
        }
    }

    #[test]
    fn f16_and_bf16_round_as_half_does() {
        let mut bits = 0_u64;
        while bits <= u64::from(u32::MAX) {
            let x = f32::from_bits(bits as u32);
            if !x.is_nan() {
                assert_eq!(f16_bits(round_f16(x)), half::f16::from_f32(x).to_bits(), "{x:e}");
                assert_eq!(bf16_bits(round_bf16(x)), half::bf16::from_f32(x).to_bits(), "{x:e}");
            } else {
                assert!(round_f16(x).is_nan() && round_bf16(x).is_nan());
            }
            bits += 4093;
        }
    }

    /// The neighbour of `x` among `values` by the definition of rounding to nearest, ties to even code.
    fn nearest(x: f64, values: &[(f64, u8)]) -> u8 {
        let mut best = values[0];
        for &candidate in values {
            let (old, new) = ((best.0 - x).abs(), (candidate.0 - x).abs());
            if new < old || new == old && candidate.1 & 1 == 0 {
                best = candidate;
            }
        }
        best.1
    }

    #[test]
    fn fp8_rounds_to_nearest_even() {
        let e4m3: Vec<_> = (0..0x7f_u8).map(|b| (f64::from(e4m3_value(b)), b)).collect();
        let e5m2: Vec<_> = (0..0x7c_u8).map(|b| (f64::from(e5m2_value(b)), b)).collect();
        assert_eq!(e4m3[0x7e].0, 448.0);
        assert_eq!(e4m3[1].0, 2.0_f64.powi(-9));
        assert_eq!(e5m2[0x7b].0, 57344.0);
        for bits in (0..0x4800_0000_u32).step_by(40_009) {
            let x = f32::from_bits(bits);
            let expected = if x > 464.0 { 0x7f } else { nearest(f64::from(x), &e4m3) };
            assert_eq!(e4m3_bits(round_e4m3(x)), expected, "{x}");
            assert_eq!(e4m3_bits(round_e4m3_sat(x)), expected.min(0x7e), "{x}");
            assert_eq!(e4m3_bits(round_e4m3(-x)), expected | 0x80, "{x}");
            let expected = if x >= 61440.0 { 0x7c } else { nearest(f64::from(x), &e5m2) };
            assert_eq!(e5m2_bits(round_e5m2(x)), expected, "{x}");
            assert_eq!(e5m2_bits(round_e5m2_sat(x)), expected.min(0x7b), "{x}");
        }
        assert_eq!(e4m3_bits(round_e4m3(464.0)), 0x7e);
        assert_eq!(e4m3_bits(round_e4m3(f32::INFINITY)), 0x7f);
        assert_eq!(e4m3_bits(round_e4m3_sat(f32::INFINITY)), 0x7e);
        assert!(round_e4m3_sat(f32::NAN).is_nan() && round_e5m2_sat(f32::NAN).is_nan());
    }

    #[test]
    fn every_fp8_round_trips() {
        for bits in 0..=u8::MAX {
            let (x, y) = (e4m3_value(bits), e5m2_value(bits));
            assert_eq!(x.is_nan(), bits & 0x7f == 0x7f);
            assert_eq!(y.is_nan(), bits & 0x7f > 0x7c);
            assert_eq!(e4m3_bits(round_e4m3(x)), bits);
            if !y.is_nan() {
                assert_eq!(e5m2_bits(round_e5m2(y)), bits);
            } else {
                assert!(e5m2_value(e5m2_bits(round_e5m2(y))).is_nan());
            }
        }
    }

    #[test]
    fn words_are_converted_as_values_are() {
        for bits in 0..=u8::MAX {
            assert_eq!(e4m3_value_word(bits.into()), e4m3_value(bits).to_bits(), "{bits:#x}");
            assert_eq!(e5m2_value_word(bits.into()), e5m2_value(bits).to_bits(), "{bits:#x}");
        }
        // All that differ in what matters to the roundings: the upper bits, and whether others are set.
        for upper in 0..1_u32 << 16 {
            for lower in [0, 1, 0x7fff, 0x8000, 0xffff] {
                let bits = upper << 16 | lower;
                let x = f32::from_bits(bits);
                assert_eq!(e4m3_word(bits), u32::from(e4m3_bits(round_e4m3(x))), "{bits:#x}");
                assert_eq!(e5m2_word(bits), u32::from(e5m2_bits(round_e5m2(x))), "{bits:#x}");
            }
        }
    }

    #[test]
    fn odd_rounding_prevents_double_rounding() {
        // Just above the tie between 1 and the next f16: nearest-even in two steps would fall back to 1.
        let x = 1.0 + 2.0_f64.powi(-11) + 2.0_f64.powi(-40);
        assert_eq!(round_f16(f64_to_f32_odd(x)), 1.0 + 2.0_f32.powi(-10));
        assert_eq!(round_f16(f64_to_f32_odd(-x)), -1.0 - 2.0_f32.powi(-10));
        assert_eq!(f64_to_f32_odd(1.0e300), f32::MAX);
        assert_eq!(round_e5m2(f64_to_f32_odd(1.0e300)), f32::INFINITY);
        assert_eq!(f64_to_f32_odd(f64::INFINITY), f32::INFINITY);
    }
}
