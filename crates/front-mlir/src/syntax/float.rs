//! Floats of MLIR's types as `f64`, which holds all of them exactly but the two that are wider.

/// What a type's bits mean.
#[derive(Clone, Copy, Debug)]
struct Format {
    exponent: u32,
    mantissa: u32,
    /// Whether the largest exponent is for infinities and NaN, as in IEEE 754; else only all bits set is NaN.
    ieee: bool,
}

fn format(name: &str) -> Option<Format> {
    let (exponent, mantissa, ieee) = match name {
        "f64" => (11, 52, true),
        "f32" => (8, 23, true),
        "tf32" => (8, 10, true),
        "bf16" => (8, 7, true),
        "f16" => (5, 10, true),
        "f8E5M2" => (5, 2, true),
        "f8E4M3" => (4, 3, true),
        "f8E3M4" => (3, 4, true),
        "f8E4M3FN" => (4, 3, false),
        _ => return None,
    };
    Some(Format { exponent, mantissa, ieee })
}

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    fn largest(self) -> f64 {
        let ones = (1u64 << self.mantissa) - 1;
        let (exponent, mantissa) = if self.ieee {
            ((1i32 << self.exponent) - 2, ones)
        } else {
            ((1i32 << self.exponent) - 1, ones - 1)
        };
        (1.0 + mantissa as f64 * power(-(self.mantissa as i32))) * power(exponent - self.bias())
    }
}

/// A power of two, also where it is subnormal.
fn power(exponent: i32) -> f64 {
    2f64.powi(exponent.div_euclid(2)) * 2f64.powi(exponent - exponent.div_euclid(2))
}

/// How many bits a type has.
pub(crate) fn width(name: &str) -> Option<u32> {
    format(name).map(|format| 1 + format.exponent + format.mantissa)
}

/// The value of bits.
pub(crate) fn from_bits(name: &str, bits: u64) -> Option<f64> {
    let format = format(name)?;
    let width = width(name)?;
    match name {
        "f64" => return Some(f64::from_bits(bits)),
        "f32" => return u32::try_from(bits).ok().map(|bits| f64::from(f32::from_bits(bits))),
        _ if bits >> width != 0 => return None,
        _ => {}
    }
    let sign = if bits >> (width - 1) != 0 { -1.0 } else { 1.0 };
    let ones = (1u64 << format.mantissa) - 1;
    let top = (1u64 << format.exponent) - 1;
    let (exponent, mantissa) = (bits >> format.mantissa & top, bits & ones);
    let magnitude = if exponent == top && format.ieee {
        if mantissa == 0 { f64::INFINITY } else { f64::NAN }
    } else if exponent == top && mantissa == ones {
        f64::NAN
    } else if exponent == 0 {
        mantissa as f64 * power(1 - format.bias() - format.mantissa as i32)
    } else {
        let scale = power(exponent as i32 - format.bias() - format.mantissa as i32);
        (mantissa + (1 << format.mantissa)) as f64 * scale
    };
    Some(magnitude.copysign(sign))
}

/// The bits of a value that [`round`] gave.
pub(crate) fn to_bits(name: &str, value: f64) -> Option<u64> {
    let format = format(name)?;
    match name {
        "f64" => return Some(value.to_bits()),
        "f32" => return Some(u64::from((value as f32).to_bits())),
        _ => {}
    }
    let sign = u64::from(value.is_sign_negative()) << (format.exponent + format.mantissa);
    let top = (1u64 << format.exponent) - 1;
    let ones = (1u64 << format.mantissa) - 1;
    let magnitude = value.abs();
    let bits = if value.is_nan() {
        let quiet = if format.ieee { 1 << (format.mantissa - 1) } else { ones };
        top << format.mantissa | quiet
    } else if magnitude.is_infinite() {
        top << format.mantissa
    } else {
        let least = 1 - format.bias();
        let exponent = exponent_of(magnitude).max(least);
        let units = (magnitude * power(format.mantissa as i32 - exponent)) as u64;
        // A subnormal lacks the leading one, which else adds one to the exponent.
        units + ((exponent - least) as u64) * (1 << format.mantissa)
    };
    Some(sign | bits)
}

fn exponent_of(magnitude: f64) -> i32 {
    (magnitude.to_bits() >> 52) as i32 - 1023
}

/// The nearest value of a type, ties to even, as MLIR rounds what it reads.
pub(crate) fn round(name: &str, value: f64) -> Option<f64> {
    let format = format(name)?;
    match name {
        "f64" => return Some(value),
        "f32" => return Some(f64::from(value as f32)),
        _ if !value.is_finite() || value == 0.0 => return Some(value),
        _ => {}
    }
    let exponent = exponent_of(value.abs()).max(1 - format.bias());
    let unit = power(exponent - format.mantissa as i32);
    let rounded = (value / unit).round_ties_even() * unit;
    if rounded.abs() <= format.largest() {
        return Some(rounded);
    }
    let beyond = if format.ieee { f64::INFINITY } else { f64::NAN };
    Some(beyond.copysign(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_all_small_floats_round_trip() {
        for name in ["f8E5M2", "f8E4M3", "f8E3M4", "f8E4M3FN", "f16", "bf16"] {
            for bits in 0..1u64 << width(name).unwrap() {
                let value = from_bits(name, bits).unwrap();
                if value.is_nan() {
                    assert!(
                        from_bits(name, to_bits(name, value).unwrap()).unwrap().is_nan(),
                        "{name} {bits:#x}"
                    );
                } else {
                    assert_eq!(round(name, value), Some(value), "{name} {bits:#x}");
                    assert_eq!(to_bits(name, value), Some(bits), "{name} {bits:#x}");
                }
            }
        }
    }

    #[test]
    fn values_between_go_to_the_even_neighbour() {
        assert_eq!(round("f16", 2049.0), Some(2048.0));
        assert_eq!(round("f16", 2051.0), Some(2052.0));
        assert_eq!(round("f16", 65520.0), Some(f64::INFINITY));
        assert_eq!(round("bf16", 1.00390625), Some(1.0));
        assert_eq!(round("f8E4M3FN", 448.0), Some(448.0));
        assert!(round("f8E4M3FN", 480.0).unwrap().is_nan());
    }
}
