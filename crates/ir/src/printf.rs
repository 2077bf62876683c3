//! The text that a `printf` operation prints.
//!
//! Formats are those of *NonSemantic.DebugPrintf*: the conversions of C for numbers, flags, width and
//! precision included, and vectors as in `%v3f` or `%1.2v4f`, which take one argument per
//! component. The conversion alone says what its arguments are, so a front end converts them:
//!
//! | conversion                 | argument                                |
//! |----------------------------|-----------------------------------------|
//! | `d i u o x X`              | `i32`                                   |
//! | the same with `l`; `ul`    | `i64`                                   |
//! | `f F e E g G a A`          | `f32`                                   |
//! | the same with `l`          | `f64`                                   |
//! | `%%`                       | none                                    |
//!
//! What is no conversion is printed as it stands. A missing argument prints as zero.

use std::fmt::Write as _;

use crate::types::Scalar;

/// Formats arguments, each given by its bits.
///
/// ```
/// let args = [-1_i32 as u32 as u64, 1.5_f32.to_bits() as u64];
/// assert_eq!(phalanx_ir::printf::format("i=%d x=%5.2f", &args), "i=-1 x= 1.50");
/// ```
pub fn format(text: &str, args: &[u64]) -> String {
    let mut args = args.iter().copied();
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Conversion(conversion) => conversion.print(&mut args, &mut out),
        }
    }
    out
}

/// The types of the arguments that a format takes.
pub fn arguments(text: &str) -> Vec<Scalar> {
    let mut types = Vec::new();
    for piece in pieces(text) {
        if let Piece::Conversion(conversion) = piece {
            types.extend(std::iter::repeat_n(conversion.scalar(), conversion.components));
        }
    }
    types
}

/// A part of a format.
enum Piece<'a> {
    Text(&'a str),
    Conversion(Conversion),
}

/// A conversion of one argument, or of the components of a vector.
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    components: usize,
    long: bool,
    kind: u8,
}

/// Widest field and largest precision; more would only fill memory.
const MAX_WIDTH: usize = 128;

/// Takes a format apart.
fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let start = rest.find('%').unwrap_or(rest.len());
        if start > 0 {
            let (text, after) = rest.split_at(start);
            rest = after;
            return Some(Piece::Text(text));
        }
        if let Some(after) = rest.strip_prefix("%%") {
            rest = after;
            return Some(Piece::Text("%"));
        }
        if let Some((conversion, length)) = Conversion::parse(rest.as_bytes()) {
            rest = &rest[length..];
            return Some(Piece::Conversion(conversion));
        }
        let (percent, after) = rest.split_at(1);
        rest = after;
        Some(Piece::Text(percent))
    })
}

impl Conversion {
    /// Reads a conversion from its percent sign on, and says how many bytes it has.
    fn parse(text: &[u8]) -> Option<(Self, usize)> {
        let mut at = 1;
        let mut conversion = Self {
            left: false,
            plus: false,
            space: false,
            alternate: false,
            zero: false,
            width: 0,
            precision: None,
            components: 1,
            long: false,
            kind: 0,
        };
        loop {
            match text.get(at)? {
                b'-' => conversion.left = true,
                b'+' => conversion.plus = true,
                b' ' => conversion.space = true,
                b'#' => conversion.alternate = true,
                b'0' => conversion.zero = true,
                _ => break,
            }
            at += 1;
        }
        conversion.width = number(text, &mut at);
        if text.get(at) == Some(&b'.') {
            at += 1;
            conversion.precision = Some(number(text, &mut at));
        }
        if text.get(at) == Some(&b'v') {
            conversion.components = match text.get(at + 1)? {
                digit @ b'2'..=b'4' => usize::from(digit - b'0'),
                _ => return None,
            };
            at += 2;
        }
        while let Some(length @ (b'l' | b'h')) = text.get(at) {
            conversion.long |= *length == b'l';
            at += 1;
        }
        conversion.kind = *text.get(at)?;
        at += 1;
        if conversion.kind == b'u' && text.get(at) == Some(&b'l') {
            conversion.long = true;
            at += 1;
        }
        b"diuoxXfFeEgGaA".contains(&conversion.kind).then_some((conversion, at))
    }

    /// Type of its arguments.
    fn scalar(&self) -> Scalar {
        match (b"diuoxX".contains(&self.kind), self.long) {
            (true, false) => Scalar::I32,
            (true, true) => Scalar::I64,
            (false, false) => Scalar::F32,
            (false, true) => Scalar::F64,
        }
    }

    fn print(&self, args: &mut impl Iterator<Item = u64>, out: &mut String) {
        for component in 0..self.components {
            if component > 0 {
                out.push_str(", ");
            }
            self.print_one(args.next().unwrap_or(0), out);
        }
    }

    fn print_one(&self, bits: u64, out: &mut String) {
        let scalar = self.scalar();
        match self.kind {
            b'd' | b'i' => {
                let value = if self.long { bits.cast_signed() } else { i64::from(bits as u32 as i32) };
                let digits = self.integer_digits(value.unsigned_abs().to_string());
                self.pad(self.sign(value < 0), "", &digits, self.precision.is_none(), out);
            }
            b'u' | b'o' | b'x' | b'X' => {
                let value = bits & scalar.mask();
                let (prefix, digits) = match self.kind {
                    b'o' => ("0", format!("{value:o}")),
                    b'x' => ("0x", format!("{value:x}")),
                    b'X' => ("0X", format!("{value:X}")),
                    _ => ("", value.to_string()),
                };
                let prefix = if self.alternate && value != 0 { prefix } else { "" };
                self.pad("", prefix, &self.integer_digits(digits), self.precision.is_none(), out);
            }
            _ => {
                let value = if self.long { f64::from_bits(bits) } else { f32::from_bits(bits as u32).into() };
                self.print_float(value, out);
            }
        }
    }

    fn integer_digits(&self, digits: String) -> String {
        match self.precision {
            Some(precision) => format!("{digits:0>precision$}"),
            None => digits,
        }
    }

    fn print_float(&self, value: f64, out: &mut String) {
        let sign = self.sign(value.is_sign_negative());
        let magnitude = value.abs();
        if !magnitude.is_finite() {
            let text = if magnitude.is_nan() { "nan" } else { "inf" };
            return self.pad(sign, "", &self.cased(text.to_owned()), false, out);
        }
        let (prefix, digits) = match self.kind.to_ascii_lowercase() {
            b'f' => ("", format!("{magnitude:.*}", self.precision.unwrap_or(6))),
            b'e' => ("", exponential(magnitude, self.precision.unwrap_or(6))),
            b'g' => ("", general(magnitude, self.precision.unwrap_or(6), self.alternate)),
            _ => (if self.kind == b'A' { "0X" } else { "0x" }, hexadecimal(magnitude)),
        };
        self.pad(sign, prefix, &self.cased(digits), true, out);
    }

    /// In capitals, if the conversion is.
    fn cased(&self, text: String) -> String {
        if self.kind.is_ascii_uppercase() { text.to_uppercase() } else { text }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        }
    }

    /// Fills the field.
    fn pad(&self, sign: &str, prefix: &str, digits: &str, may_zero: bool, out: &mut String) {
        let fill = self.width.saturating_sub(sign.len() + prefix.len() + digits.len());
        let (spaces, zeros, after) = match (self.left, self.zero && may_zero) {
            (true, _) => (0, 0, fill),
            (false, true) => (0, fill, 0),
            (false, false) => (fill, 0, 0),
        };
        // Writing to a string does not fail.
        let _always = write!(out, "{:spaces$}{sign}{prefix}{:0<zeros$}{digits}{:after$}", "", "", "");
    }
}

/// Reads a number, at most [`MAX_WIDTH`].
fn number(text: &[u8], at: &mut usize) -> usize {
    let mut value = 0;
    while let Some(digit @ b'0'..=b'9') = text.get(*at) {
        value = MAX_WIDTH.min(value * 10 + usize::from(digit - b'0'));
        *at += 1;
    }
    value
}

/// As C's `%e`: the exponent has a sign and at least two digits.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{mantissa}e-{exponent:0>2}"),
            None => format!("{mantissa}e+{exponent:0>2}"),
        },
        None => text,
    }
}

/// As C's `%g`: the shorter of `%e` and `%f`, without trailing zeros.
fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    let precision = precision.max(1);
    let scientific = exponential(value, precision - 1);
    let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    if exponent < -4 || exponent >= precision as i32 {
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
        return format!("{}e{exponent}", without_zeros(mantissa, keep_zeros));
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    without_zeros(&format!("{value:.decimals$}"), keep_zeros).to_owned()
}

fn without_zeros(text: &str, keep: bool) -> &str {
    if keep || !text.contains('.') { text } else { text.trim_end_matches('0').trim_end_matches('.') }
}

/// As C's `%a`, without the prefix.
fn hexadecimal(value: f64) -> String {
    if value == 0.0 {
        return "0p+0".to_owned();
    }
    let bits = value.to_bits();
    let (field, fraction) = ((bits >> 52) as i32 & 0x7ff, bits & ((1 << 52) - 1));
    let (lead, exponent) = if field == 0 { (0, -1022) } else { (1, field - 1023) };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{lead}{point}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(value: f32) -> u64 {
        value.to_bits().into()
    }

    #[test]
    fn integers_as_in_c() {
        for (text, bits, expected) in [
            ("%d", u64::from(u32::MAX), "-1"),
            ("%u", u64::from(u32::MAX), "4294967295"),
            ("%ld", u64::MAX, "-1"),
            ("%lu", u64::MAX, "18446744073709551615"),
            ("%ul", u64::MAX, "18446744073709551615"),
            ("%x|", 0xab, "ab|"),
            ("%#X", 0xab, "0XAB"),
            ("%#o", 8, "010"),
            ("%05d", (-7_i32) as u32 as u64, "-0007"),
            ("%-5d|", 7, "7    |"),
            ("%+d", 7, "+7"),
            ("% d", 7, " 7"),
            ("%5.3d", 7, "  007"),
            ("%i%%", 3, "3%"),
        ] {
            assert_eq!(format(text, &[bits]), expected, "{text}");
        }
    }

    #[test]
    fn floats_as_in_c() {
        for (text, value, expected) in [
            ("%f", 1.5, "1.500000"),
            ("%8.2f|", -1.5, "   -1.50|"),
            ("%08.2f", -1.5, "-0001.50"),
            ("%e", 12345.0, "1.234500e+04"),
            ("%.0e", 0.0, "0e+00"),
            ("%E", 1e-20, "1.000000E-20"),
            ("%g", 100_000.0, "100000"),
            ("%g", 1_000_000.0, "1e+06"),
            ("%g", 0.0001, "0.0001"),
            ("%g", 0.00001, "1e-05"),
            ("%g", 0.0, "0"),
            ("%f", f32::INFINITY, "inf"),
            ("%F", f32::NAN, "NAN"),
            ("%a", 1.5, "0x1.8p+0"),
            ("%a", 1.0, "0x1p+0"),
        ] {
            assert_eq!(format(text, &[f(value)]), expected, "{text} {value}");
        }
        assert_eq!(format("%lf", &[2.5_f64.to_bits()]), "2.500000");
    }

    #[test]
    fn vectors_take_an_argument_per_component() {
        let args = [f(1.0), f(2.0), f(3.0), 4];
        assert_eq!(format("%1.1v3f %u", &args), "1.0, 2.0, 3.0 4");
        assert_eq!(arguments("%v2f %% %ld %d"), [Scalar::F32, Scalar::F32, Scalar::I64, Scalar::I32]);
    }

    #[test]
    fn what_is_no_conversion_is_printed() {
        for text in ["", "%", "100%", "%s %n %p", "%v5f", "%v", "%-", "é%zü", "%l", "%.", "%ñ"] {
            assert_eq!(format(text, &[1, 2, 3]), text);
        }
    }

    #[test]
    fn absurd_widths_are_limited() {
        assert_eq!(format("%99999999999999999999d", &[1]).len(), MAX_WIDTH);
        assert!(format("%.99999999999f", &[f(1.0)]).len() < 200);
    }

    #[test]
    fn missing_arguments_print_as_zero() {
        assert_eq!(format("%d %d", &[7]), "7 0");
    }
}
