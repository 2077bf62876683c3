//! Compares results with what is expected.

use crate::data::{Data, Item, Ty};
use crate::error::Wrong;
use crate::tokens::Tokens;
use phalanx_ir::Scalar;
use std::fmt::Write;

/// How far a float may be off; within one of the bounds is enough.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// Units in the last place.
    pub ulps: u64,
    /// Absolute difference.
    pub absolute: f64,
    /// Difference relative to what is expected.
    pub relative: f64,
}

impl Tolerance {
    /// Reads `2 ulp`, `1e-3 abs`, `1e-3 rel`, several of them, or `exact`.
    pub(crate) fn parse(tokens: &mut Tokens<'_>) -> Result<Self, Wrong> {
        let mut tolerance = Self::default();
        if tokens.peek() == Some("exact") {
            tokens.next();
            return Ok(tolerance);
        }
        while tokens.peek().is_some() {
            let bound = tokens.float("a number")?;
            match tokens.word("`ulp`, `abs` or `rel`")? {
                "ulp" => tolerance.ulps = bound as u64,
                "abs" => tolerance.absolute = bound,
                "rel" => tolerance.relative = bound,
                word => return Err(Wrong::new("`ulp`, `abs` or `rel`", word)),
            }
        }
        Ok(tolerance)
    }

    /// Whether a result is near enough. Zeros of both signs are equal, and so are all NaNs.
    pub fn accepts(&self, ty: Ty, expected: u64, found: u64) -> bool {
        if expected == found {
            return true;
        }
        if ty.scalar.is_int() {
            return false;
        }
        let (x, y) = (ty.value(expected), ty.value(found));
        if x.is_nan() || y.is_nan() {
            return x.is_nan() && y.is_nan();
        }
        x == y
            || (x - y).abs() <= self.absolute.max(self.relative * x.abs())
            || (x.is_finite() && y.is_finite() && rank(ty, expected).abs_diff(rank(ty, found)) <= self.ulps)
    }
}

/// The position of a float among all floats of its type.
fn rank(ty: Ty, bits: u64) -> i64 {
    let magnitude = (bits & (ty.scalar.mask() >> 1)) as i64;
    if bits == magnitude as u64 { magnitude } else { -magnitude }
}

/// Most mismatches that are shown.
const SHOWN: usize = 12;

/// Compares bytes with expected data; where targets shall agree, with the first one's.
///
/// The difference is a table of index, expected and found, or `None`.
///
/// # Errors
///
/// What is wrong with a formula.
pub(crate) fn difference(
    data: &Data,
    expected: &[u8],
    first: Option<&[u8]>,
    found: &[u8],
    tolerance: &Tolerance,
) -> Result<Option<String>, Wrong> {
    let mut table = String::new();
    let (mut at, mut index, mut wrong, mut checked) = (0, 0, 0, 0);
    for segment in &data.segments {
        let size = segment.ty.bytes();
        for item in segment.items()? {
            let bits = word(found, at, size);
            let want = match item {
                Item::Any => None,
                Item::Bits(_) | Item::Address(..) => Some(word(expected, at, size)),
                Item::Same => first.map(|first| word(first, at, size)),
            };
            if let Some(want) = want {
                checked += 1;
                if !tolerance.accepts(segment.ty, want, bits) {
                    wrong += 1;
                    if wrong <= SHOWN {
                        row(&mut table, segment.ty, index, want, bits);
                    }
                }
            }
            at += size;
            index += 1;
        }
    }
    let text = || format!("{wrong} of {checked} numbers differ\n   index  expected  found\n{table}");
    Ok((wrong > 0).then(text))
}

fn row(table: &mut String, ty: Ty, index: usize, want: u64, bits: u64) {
    let digits = ty.bytes() * 2;
    let _ = write!(table, "  {index:>6}  {}  {}", ty.show(want), ty.show(bits));
    if !matches!(ty.scalar, Scalar::I8 | Scalar::I16 | Scalar::I32) {
        let _ = write!(table, "    ({want:#0$x} {bits:#0$x})", digits + 2);
    }
    table.push('\n');
}

/// A little-endian number; what is not there is zero.
fn word(bytes: &[u8], at: usize, size: usize) -> u64 {
    let bytes = bytes.get(at..at + size).unwrap_or_default();
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances() {
        let f32 = Ty::from_name("f32").unwrap();
        let bits = |x: f32| u64::from(x.to_bits());
        let tolerance = |text| Tolerance::parse(&mut Tokens::new(text)).unwrap();
        let next = bits(1.0) + 1;
        assert!(!tolerance("exact").accepts(f32, bits(1.0), next));
        assert!(tolerance("1 ulp").accepts(f32, bits(1.0), next));
        assert!(tolerance("2 ulp").accepts(f32, 1, 0x8000_0001));
        assert!(!tolerance("1 ulp").accepts(f32, 1, 0x8000_0001));
        assert!(tolerance("1e-3 rel").accepts(f32, bits(1000.0), bits(1000.9)));
        assert!(!tolerance("1e-3 abs").accepts(f32, bits(1000.0), bits(1000.9)));
        assert!(tolerance("exact").accepts(f32, bits(0.0), bits(-0.0)));
        assert!(tolerance("exact").accepts(f32, bits(f32::NAN), 0xffff_ffff));
        assert!(!tolerance("9 ulp").accepts(f32, bits(f32::NAN), bits(1.0)));
        assert!(!tolerance("1e9 abs").accepts(f32, bits(f32::INFINITY), bits(1.0)));
    }
}
