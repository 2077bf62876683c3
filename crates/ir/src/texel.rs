//! Texels: the formats that elements of images and texel buffers have in memory, and what they mean.
//!
//! A texel is four components, red, green, blue and alpha. [`Format::decode`] makes them of bytes and
//! [`Format::encode`] the other way; the interpreter, targets, and whoever fills or copies images call these two, so
//! a format means the same thing everywhere. The conversions are those of the Khronos Data Format Specification.
//!
//! Components are the low bits of a `u64`: the bits of an `f32` for normalised and floating-point formats, an integer
//! otherwise, with its sign extended to 32 bits; 64-bit formats use all of it.

mod small_float;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use half::f16;

/// What the bits of a format's components are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numeric {
    /// Fractions from 0 to 1.
    Unorm,
    /// Fractions from -1 to 1.
    Snorm,
    /// Integers without a sign.
    Uint,
    /// Integers with a sign.
    Sint,
    /// Floats of 16 or 32 bits.
    Float,
    /// Floats without a sign, with an exponent of 5 bits.
    Ufloat,
    /// Mantissas of 9 bits that share an exponent of 5 bits above them.
    SharedExponent,
    /// Fractions from 0 to 1 in the sRGB transfer function; alpha is linear.
    Srgb,
}

/// First bit and number of bits of a component; no bits if the format lacks it.
type Bits = (u32, u32);

/// Declares the formats: name, kind, and the bits of red, green, blue and alpha in the little-endian word that is the
/// texel.
macro_rules! formats {
    ($($name:ident: $numeric:ident [$($first:literal + $bits:literal),+];)+) => {
        /// How a texel lies in memory. A name lists the components and their bits: from the lowest address where
        /// each of them is one or more whole bytes, from the highest bit otherwise.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each is named by its components, their bits and their kind")]
        pub enum Format { $($name),+ }

        impl Format {
            /// All formats.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }

            fn layout(self) -> (Numeric, &'static [Bits]) {
                match self { $(Self::$name => (Numeric::$numeric, const { &[$(($first, $bits)),+] })),+ }
            }

            /// Bytes of a texel.
            pub fn bytes(self) -> usize {
                match self { $(Self::$name => const { bytes(&[$(($first, $bits)),+]) }),+ }
            }
        }
    };
}

formats! {
    R8Unorm: Unorm [0 + 8];
    R8Snorm: Snorm [0 + 8];
    R8Uint: Uint [0 + 8];
    R8Sint: Sint [0 + 8];
    R8Srgb: Srgb [0 + 8];
    R8g8Unorm: Unorm [0 + 8, 8 + 8];
    R8g8Snorm: Snorm [0 + 8, 8 + 8];
    R8g8Uint: Uint [0 + 8, 8 + 8];
    R8g8Sint: Sint [0 + 8, 8 + 8];
    R8g8Srgb: Srgb [0 + 8, 8 + 8];
    R8g8b8a8Unorm: Unorm [0 + 8, 8 + 8, 16 + 8, 24 + 8];
    R8g8b8a8Snorm: Snorm [0 + 8, 8 + 8, 16 + 8, 24 + 8];
    R8g8b8a8Uint: Uint [0 + 8, 8 + 8, 16 + 8, 24 + 8];
    R8g8b8a8Sint: Sint [0 + 8, 8 + 8, 16 + 8, 24 + 8];
    R8g8b8a8Srgb: Srgb [0 + 8, 8 + 8, 16 + 8, 24 + 8];
    B8g8r8a8Unorm: Unorm [16 + 8, 8 + 8, 0 + 8, 24 + 8];
    B8g8r8a8Snorm: Snorm [16 + 8, 8 + 8, 0 + 8, 24 + 8];
    B8g8r8a8Uint: Uint [16 + 8, 8 + 8, 0 + 8, 24 + 8];
    B8g8r8a8Sint: Sint [16 + 8, 8 + 8, 0 + 8, 24 + 8];
    B8g8r8a8Srgb: Srgb [16 + 8, 8 + 8, 0 + 8, 24 + 8];
    R16Unorm: Unorm [0 + 16];
    R16Snorm: Snorm [0 + 16];
    R16Uint: Uint [0 + 16];
    R16Sint: Sint [0 + 16];
    R16Sfloat: Float [0 + 16];
    R16g16Unorm: Unorm [0 + 16, 16 + 16];
    R16g16Snorm: Snorm [0 + 16, 16 + 16];
    R16g16Uint: Uint [0 + 16, 16 + 16];
    R16g16Sint: Sint [0 + 16, 16 + 16];
    R16g16Sfloat: Float [0 + 16, 16 + 16];
    R16g16b16a16Unorm: Unorm [0 + 16, 16 + 16, 32 + 16, 48 + 16];
    R16g16b16a16Snorm: Snorm [0 + 16, 16 + 16, 32 + 16, 48 + 16];
    R16g16b16a16Uint: Uint [0 + 16, 16 + 16, 32 + 16, 48 + 16];
    R16g16b16a16Sint: Sint [0 + 16, 16 + 16, 32 + 16, 48 + 16];
    R16g16b16a16Sfloat: Float [0 + 16, 16 + 16, 32 + 16, 48 + 16];
    R32Uint: Uint [0 + 32];
    R32Sint: Sint [0 + 32];
    R32Sfloat: Float [0 + 32];
    R32g32Uint: Uint [0 + 32, 32 + 32];
    R32g32Sint: Sint [0 + 32, 32 + 32];
    R32g32Sfloat: Float [0 + 32, 32 + 32];
    R32g32b32a32Uint: Uint [0 + 32, 32 + 32, 64 + 32, 96 + 32];
    R32g32b32a32Sint: Sint [0 + 32, 32 + 32, 64 + 32, 96 + 32];
    R32g32b32a32Sfloat: Float [0 + 32, 32 + 32, 64 + 32, 96 + 32];
    R64Uint: Uint [0 + 64];
    R64Sint: Sint [0 + 64];
    A2b10g10r10Unorm: Unorm [0 + 10, 10 + 10, 20 + 10, 30 + 2];
    A2b10g10r10Snorm: Snorm [0 + 10, 10 + 10, 20 + 10, 30 + 2];
    A2b10g10r10Uint: Uint [0 + 10, 10 + 10, 20 + 10, 30 + 2];
    A2b10g10r10Sint: Sint [0 + 10, 10 + 10, 20 + 10, 30 + 2];
    A2r10g10b10Unorm: Unorm [20 + 10, 10 + 10, 0 + 10, 30 + 2];
    A2r10g10b10Snorm: Snorm [20 + 10, 10 + 10, 0 + 10, 30 + 2];
    A2r10g10b10Uint: Uint [20 + 10, 10 + 10, 0 + 10, 30 + 2];
    A2r10g10b10Sint: Sint [20 + 10, 10 + 10, 0 + 10, 30 + 2];
    B10g11r11Ufloat: Ufloat [0 + 11, 11 + 11, 22 + 10];
    E5b9g9r9Ufloat: SharedExponent [0 + 9, 9 + 9, 18 + 9];
    D16Unorm: Unorm [0 + 16];
    D32Sfloat: Float [0 + 32];
    R4g4Unorm: Unorm [4 + 4, 0 + 4];
    R5g6b5Unorm: Unorm [11 + 5, 5 + 6, 0 + 5];
    B5g6r5Unorm: Unorm [0 + 5, 5 + 6, 11 + 5];
    R4g4b4a4Unorm: Unorm [12 + 4, 8 + 4, 4 + 4, 0 + 4];
    B4g4r4a4Unorm: Unorm [4 + 4, 8 + 4, 12 + 4, 0 + 4];
    A4r4g4b4Unorm: Unorm [8 + 4, 4 + 4, 0 + 4, 12 + 4];
    A4b4g4r4Unorm: Unorm [0 + 4, 4 + 4, 8 + 4, 12 + 4];
    R5g5b5a1Unorm: Unorm [11 + 5, 6 + 5, 1 + 5, 0 + 1];
    B5g5r5a1Unorm: Unorm [1 + 5, 6 + 5, 11 + 5, 0 + 1];
    A1r5g5b5Unorm: Unorm [10 + 5, 5 + 5, 0 + 5, 15 + 1];
}

/// Bytes of the largest texel.
pub const MAX_TEXEL_BYTES: usize = 16;

impl Format {
    /// The format with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// What its components are.
    pub fn numeric(self) -> Numeric {
        self.layout().0
    }

    /// Whether components are integers, and not `f32`.
    pub fn is_integer(self) -> bool {
        matches!(self.numeric(), Numeric::Uint | Numeric::Sint)
    }

    /// The first bit and the number of bits of its components, from red, in the little-endian word that is a texel.
    pub fn component_bits(self) -> &'static [(u32, u32)] {
        self.layout().1
    }

    /// Number of components, from red.
    pub fn components(self) -> usize {
        self.component_bits().len()
    }

    /// The components of a texel. What the format lacks is 0, and alpha 1. Missing bytes are zeros.
    pub fn decode(self, bytes: &[u8]) -> [u64; 4] {
        let bytes = &bytes[..bytes.len().min(self.bytes())];
        let word = match *bytes {
            // What most texels are.
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
            _ => bytes.iter().rev().fold(0_u128, |word, &byte| word << 8 | u128::from(byte)),
        };
        let (numeric, layout) = self.layout();
        if numeric == Numeric::SharedExponent {
            return small_float::decode_shared(word as u32).map(float_bits);
        }
        let one = if self.is_integer() { 1 } else { float_bits(1.0) };
        let mut components = [0, 0, 0, one];
        for ((i, component), &(first, bits)) in components.iter_mut().enumerate().zip(layout) {
            let raw = (word >> first) as u64 & mask(bits);
            *component = decode_component(numeric, i == 3, bits, raw);
        }
        components
    }

    /// The bytes of a texel, the first of the result, from its components. Fractions are clamped and rounded to
    /// nearest, integers lose their upper bits.
    pub fn encode(self, components: [u64; 4]) -> [u8; MAX_TEXEL_BYTES] {
        let (numeric, layout) = self.layout();
        if numeric == Numeric::SharedExponent {
            let [red, green, blue, _] = components.map(bits_float);
            return u128::from(small_float::encode_shared([red, green, blue])).to_le_bytes();
        }
        let mut word = 0;
        for ((i, &component), &(first, bits)) in components.iter().enumerate().zip(layout) {
            let raw = encode_component(numeric, i == 3, bits, component) & mask(bits);
            word |= u128::from(raw) << first;
        }
        word.to_le_bytes()
    }
}

/// Bytes up to the last bit of the components.
const fn bytes(components: &[Bits]) -> usize {
    let (mut end, mut rest) = (0, components);
    while let [component, others @ ..] = rest {
        let (first, bits) = *component;
        end = if first + bits > end { first + bits } else { end };
        rest = others;
    }
    end.div_ceil(8) as usize
}

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

fn float_bits(x: f32) -> u64 {
    x.to_bits().into()
}

fn bits_float(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn decode_component(numeric: Numeric, is_alpha: bool, bits: u32, raw: u64) -> u64 {
    let signed = (raw << (64 - bits)) as i64 >> (64 - bits);
    match numeric {
        Numeric::Uint => raw,
        Numeric::Sint if bits == 64 => raw,
        Numeric::Sint => u64::from(signed as u32),
        Numeric::Unorm => float_bits(fraction(bits, raw)),
        Numeric::Srgb if is_alpha => float_bits(fraction(bits, raw)),
        Numeric::Srgb => float_bits(from_srgb_byte(raw as u8)),
        // Of the two most negative values, both mean -1.
        Numeric::Snorm => float_bits((signed as f32 / mask(bits - 1) as f32).max(-1.0)),
        Numeric::Float if bits == 16 => float_bits(f16::from_bits(raw as u16).to_f32()),
        Numeric::Float => raw,
        Numeric::Ufloat | Numeric::SharedExponent => float_bits(small_float::decode(raw as u32, bits - 5)),
    }
}

fn encode_component(numeric: Numeric, is_alpha: bool, bits: u32, component: u64) -> u64 {
    let x = bits_float(component);
    match numeric {
        Numeric::Uint | Numeric::Sint => component,
        Numeric::Unorm => normalize(x, 0.0, mask(bits)),
        Numeric::Srgb if is_alpha => normalize(x, 0.0, mask(bits)),
        Numeric::Srgb => normalize(to_srgb(x), 0.0, mask(bits)),
        Numeric::Snorm => normalize(x, -1.0, mask(bits - 1)),
        Numeric::Float if bits == 16 => f16::from_f32(x).to_bits().into(),
        Numeric::Float => component,
        Numeric::Ufloat | Numeric::SharedExponent => small_float::encode(x, bits - 5).into(),
    }
}

/// The fraction that an integer of so many bits stands for. Both fit an `f32`, so the quotient is rounded once.
fn fraction(bits: u32, raw: u64) -> f32 {
    raw as f32 / mask(bits) as f32
}

/// The integer nearest to `x` times `scale`; `x` is clamped to `least..=1`, and a NaN is 0.
fn normalize(x: f32, least: f64, scale: u64) -> u64 {
    let x = if x.is_nan() { 0.0 } else { f64::from(x) };
    (x.clamp(least, 1.0) * scale as f64).round_ties_even() as i64 as u64
}

/// The sRGB transfer functions (Khronos Data Format Specification, chapter 13.3).
fn from_srgb(x: f32) -> f32 {
    let x = f64::from(x);
    (if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }) as f32
}

/// The same for a component, all of which have 8 bits.
fn from_srgb_byte(byte: u8) -> f32 {
    static TABLE: LazyLock<[f32; 256]> =
        LazyLock::new(|| std::array::from_fn(|byte| from_srgb(fraction(8, byte as u64))));
    TABLE[usize::from(byte)]
}

fn to_srgb(x: f32) -> f32 {
    let x = f64::from(x);
    (if x <= 0.003_130_8 { x * 12.92 } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 }) as f32
}
