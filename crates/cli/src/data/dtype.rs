//! Element types by name, their sizes, and their values as `f64`.
//!
//! Small floating-point formats are decoded and encoded from their definition (a sign, an exponent, a mantissa), not
//! through the conversion code that the device uses: data made here is an independent witness in every comparison.

use std::fmt;
use std::str::FromStr;

use super::DataError;

/// The type of an element in a file, a buffer or a push constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DType {
    F16,
    F32,
    F64,
    Bf16,
    E4m3,
    E5m2,
    S8,
    S16,
    S32,
    S64,
    U8,
    U16,
    U32,
    U64,
}

/// Every type with its name. Signed integers are `s8` to `s64`, as in the shading languages.
const NAMES: [(DType, &str); 14] = [
    (DType::F16, "f16"),
    (DType::F32, "f32"),
    (DType::F64, "f64"),
    (DType::Bf16, "bf16"),
    (DType::E4m3, "e4m3"),
    (DType::E5m2, "e5m2"),
    (DType::S8, "s8"),
    (DType::S16, "s16"),
    (DType::S32, "s32"),
    (DType::S64, "s64"),
    (DType::U8, "u8"),
    (DType::U16, "u16"),
    (DType::U32, "u32"),
    (DType::U64, "u64"),
];

/// Other common names; `i8` means eight bits here.
const ALIASES: [(&str, DType); 14] = [
    ("i8", DType::S8),
    ("i16", DType::S16),
    ("i32", DType::S32),
    ("i64", DType::S64),
    ("int8", DType::S8),
    ("int16", DType::S16),
    ("int32", DType::S32),
    ("int64", DType::S64),
    ("int", DType::S32),
    ("uint", DType::U32),
    ("half", DType::F16),
    ("float", DType::F32),
    ("double", DType::F64),
    ("bfloat16", DType::Bf16),
];

impl DType {
    pub(crate) fn name(self) -> &'static str {
        NAMES.iter().find(|(dtype, _)| *dtype == self).map_or("?", |(_, name)| name)
    }

    pub(crate) fn size_bytes(self) -> usize {
        match self {
            Self::E4m3 | Self::E5m2 | Self::S8 | Self::U8 => 1,
            Self::F16 | Self::Bf16 | Self::S16 | Self::U16 => 2,
            Self::F32 | Self::S32 | Self::U32 => 4,
            Self::F64 | Self::S64 | Self::U64 => 8,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64 | Self::Bf16 | Self::E4m3 | Self::E5m2)
    }

    /// The format, for types that are no native number of this language.
    fn small_float(self) -> Option<SmallFloat> {
        let format = |exponent_bits, mantissa_bits, has_infinities| SmallFloat {
            exponent_bits,
            mantissa_bits,
            has_infinities,
        };
        match self {
            Self::F16 => Some(format(5, 10, true)),
            Self::Bf16 => Some(format(8, 7, true)),
            Self::E4m3 => Some(format(4, 3, false)),
            Self::E5m2 => Some(format(5, 2, true)),
            _ => None,
        }
    }

    /// The value of one element, given its bits in the low end; what is above them does not count. 64-bit integers are rounded to `f64`.
    pub(crate) fn value(self, bits: u64) -> f64 {
        #[expect(clippy::cast_possible_wrap, reason = "reinterpreting bits is what a signed type means")]
        match self {
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
            Self::S8 => f64::from(bits as u8 as i8),
            Self::S16 => f64::from(bits as u16 as i16),
            Self::S32 => f64::from(bits as u32 as i32),
            Self::S64 => bits as i64 as f64,
            Self::U8 => f64::from(bits as u8),
            Self::U16 => f64::from(bits as u16),
            Self::U32 => f64::from(bits as u32),
            Self::U64 => bits as f64,
            Self::F16 | Self::Bf16 | Self::E4m3 | Self::E5m2 => {
                self.small_float().map_or(f64::NAN, |format| format.decode(bits as u32))
            }
        }
    }

    /// The bits of the element nearest to `value`, ties to even. Integers saturate.
    pub(crate) fn bits(self, value: f64) -> u64 {
        match self {
            Self::F32 => u64::from((value as f32).to_bits()),
            Self::F64 => value.to_bits(),
            Self::S8 => u64::from(value.round_ties_even() as i8 as u8),
            Self::S16 => u64::from(value.round_ties_even() as i16 as u16),
            Self::S32 => u64::from(value.round_ties_even() as i32 as u32),
            Self::S64 => (value.round_ties_even() as i64).cast_unsigned(),
            Self::U8 => u64::from(value.round_ties_even() as u8),
            Self::U16 => u64::from(value.round_ties_even() as u16),
            Self::U32 => u64::from(value.round_ties_even() as u32),
            Self::U64 => value.round_ties_even() as u64,
            Self::F16 | Self::Bf16 | Self::E4m3 | Self::E5m2 => {
                self.small_float().map_or(0, |format| u64::from(format.encode(value)))
            }
        }
    }

    /// Reads the element at the start of `bytes`.
    ///
    /// # Panics
    /// If `bytes` is shorter than the type.
    pub(crate) fn read(self, bytes: &[u8]) -> u64 {
        let mut word = [0; 8];
        word[..self.size_bytes()].copy_from_slice(&bytes[..self.size_bytes()]);
        u64::from_le_bytes(word)
    }

    /// Appends the element with these bits.
    pub(crate) fn push(self, bits: u64, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&bits.to_le_bytes()[..self.size_bytes()]);
    }

    /// Reads a number as people write it: `-3`, `0x1f`, `1.5e-3`, `inf`.
    pub(crate) fn parse_value(self, text: &str) -> Result<u64, DataError> {
        let error = || DataError::Number { text: text.to_owned(), dtype: self };
        if self.is_float() {
            let value: f64 = text.parse().map_err(|_| error())?;
            return Ok(self.bits(value));
        }
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        let magnitude = match digits.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        let value = sign * magnitude.ok().filter(|_| !digits.starts_with(['+', '-'])).ok_or_else(error)?;
        let bits = 8 * self.size_bytes();
        let (low, high) = match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => (0, (1_i128 << bits) - 1),
            _ => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        };
        if value < low || value > high {
            return Err(error());
        }
        Ok((value & ((1_i128 << bits) - 1)) as u64)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl serde::Serialize for DType {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl FromStr for DType {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        let named = NAMES.iter().find(|(_, name)| *name == text).map(|(dtype, _)| *dtype);
        let alias = || ALIASES.iter().find(|(name, _)| *name == text).map(|(_, dtype)| *dtype);
        named.or_else(alias).ok_or_else(|| DataError::UnknownType {
            text: text.to_owned(),
            known: NAMES.map(|(_, name)| name).join(", "),
        })
    }
}

/// A binary floating-point format of at most 16 bits.
#[derive(Debug, Clone, Copy)]
struct SmallFloat {
    exponent_bits: u32,
    mantissa_bits: u32,
    /// Whether the largest exponent means infinity or NaN. Without infinities, only all ones are NaN.
    has_infinities: bool,
}

impl SmallFloat {
    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    fn sign_bit(self) -> u32 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// The bits of the largest finite value.
    fn max_finite(self) -> u32 {
        let all_ones = self.sign_bit() - 1;
        if self.has_infinities { all_ones - (1 << self.mantissa_bits) } else { all_ones - 1 }
    }

    fn decode(self, bits: u32) -> f64 {
        let sign = if bits & self.sign_bit() == 0 { 1.0 } else { -1.0 };
        let magnitude = bits & (self.sign_bit() - 1);
        if magnitude > self.max_finite() {
            let is_infinite = self.has_infinities && magnitude == self.max_finite() + 1;
            return if is_infinite { sign * f64::INFINITY } else { f64::NAN };
        }
        let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
        let exponent = (magnitude >> self.mantissa_bits).cast_signed();
        let (significand, exponent) = match exponent {
            0 => (mantissa, 1),
            _ => (mantissa | 1 << self.mantissa_bits, exponent),
        };
        let quantum = exponent - self.bias() - self.mantissa_bits.cast_signed();
        sign * f64::from(significand) * f64::powi(2.0, quantum)
    }

    fn encode(self, value: f64) -> u32 {
        let sign = if value.is_sign_negative() { self.sign_bit() } else { 0 };
        if value.is_nan() {
            return sign | (self.sign_bit() - 1);
        }
        // Infinity where there is one, NaN otherwise.
        let overflow = sign | (self.max_finite() + 1);
        if value.is_infinite() {
            return overflow;
        }
        let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(1 - self.bias());
        let quantum = exponent - self.mantissa_bits.cast_signed();
        // Exact: a power of two within the range of f64 only moves the exponent. It has at most 53 bits, and
        // values so large that the count would not fit are cut off by the comparison.
        let count = (value.abs() * f64::powi(2.0, -quantum)).round_ties_even();
        let below = (exponent + self.bias() - 1).cast_unsigned() << self.mantissa_bits;
        let magnitude = u64::from(below) + count as u64;
        if exponent > self.bias() + 1 || magnitude > u64::from(self.max_finite()) {
            return overflow;
        }
        sign | magnitude as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f16_and_bf16_agree_with_the_half_crate_on_every_bit_pattern() {
        for bits in 0..=u16::MAX {
            let pairs = [
                (DType::F16, half::f16::from_bits(bits).to_f64()),
                (DType::Bf16, half::bf16::from_bits(bits).to_f64()),
            ];
            for (dtype, expected) in pairs {
                let value = dtype.value(u64::from(bits));
                assert!(value == expected || value.is_nan() && expected.is_nan(), "{dtype} {bits:#x}");
                if !value.is_nan() {
                    assert_eq!(dtype.bits(value), u64::from(bits), "{dtype} {bits:#x}");
                }
            }
        }
    }

    #[test]
    fn rounding_agrees_with_the_half_crate_between_the_values() {
        // From f32, because half drops the low bits of an f64 before it rounds.
        let mut value = 1e-9_f32;
        while value < 1e6 {
            let exact = f64::from(value);
            assert_eq!(DType::F16.bits(exact), u64::from(half::f16::from_f32(value).to_bits()), "{value}");
            assert_eq!(
                DType::Bf16.bits(-exact),
                u64::from(half::bf16::from_f32(-value).to_bits()),
                "{value}"
            );
            value *= 1.000_37;
        }
    }

    #[test]
    fn a_value_just_above_the_middle_is_rounded_up() {
        // The middle between 1 and the next bfloat16, and the smallest f64 above it.
        let middle = 1.0 + f64::powi(2.0, -8);
        assert_eq!(DType::Bf16.bits(middle), 0x3f80);
        assert_eq!(DType::Bf16.bits(middle.next_up()), 0x3f81);
    }

    #[test]
    fn float8_has_the_values_of_its_definition() {
        assert_eq!(DType::E4m3.value(0x7e), 448.0);
        assert!(DType::E4m3.value(0x7f).is_nan());
        assert_eq!(DType::E4m3.value(0x01), f64::powi(2.0, -9));
        assert_eq!(DType::E5m2.value(0x7b), 57344.0);
        assert_eq!(DType::E5m2.value(0x7c), f64::INFINITY);
        assert_eq!(DType::E5m2.value(0x81), -f64::powi(2.0, -16));
        for dtype in [DType::E4m3, DType::E5m2] {
            for bits in 0..=0xff {
                let value = dtype.value(bits);
                assert!(value.is_nan() || dtype.bits(value) == bits, "{dtype} {bits:#x}");
            }
        }
        // Halfway between 1 and 1.125 goes to the even mantissa; beyond the largest value there is only NaN.
        assert_eq!(DType::E4m3.bits(1.0625), DType::E4m3.bits(1.0));
        assert_eq!(DType::E4m3.bits(1000.0), 0x7f);
        assert_eq!(DType::E5m2.bits(1e30), 0x7c);
    }

    #[test]
    fn numbers_are_checked_against_their_type() {
        assert_eq!(DType::S8.parse_value("-128").expect("in range"), 0x80);
        assert_eq!(DType::U32.parse_value("0xffffffff").expect("in range"), 0xffff_ffff);
        assert_eq!(DType::F32.parse_value("1.5").expect("a number"), u64::from(1.5_f32.to_bits()));
        for (dtype, text) in [
            (DType::U8, "256"),
            (DType::U8, "-1"),
            (DType::S8, "128"),
            (DType::U32, "1.5"),
            (DType::F32, "x"),
        ] {
            assert!(dtype.parse_value(text).is_err(), "{dtype} {text}");
        }
        assert!(DType::S32.parse_value("--3").is_err());
    }

    #[test]
    fn names_and_aliases_are_understood() {
        for (dtype, name) in NAMES {
            assert_eq!(name.parse::<DType>().expect("a name"), dtype);
            assert_eq!(dtype.to_string(), name);
        }
        assert_eq!("i32".parse::<DType>().expect("an alias"), DType::S32);
        let error = "f8".parse::<DType>().expect_err("not a type");
        assert!(error.to_string().contains("e4m3"), "{error}");
    }
}
