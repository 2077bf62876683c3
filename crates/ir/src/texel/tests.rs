use super::*;

fn floats(format: Format, bytes: &[u8]) -> [f32; 4] {
    format.decode(bytes).map(bits_float)
}

fn from_floats(format: Format, components: [f32; 4]) -> Vec<u8> {
    format.encode(components.map(float_bits))[..format.bytes()].to_vec()
}

#[test]
fn names_and_sizes() {
    for &format in Format::ALL {
        assert_eq!(Format::from_name(format.name()), Some(format));
        assert!((1..=MAX_TEXEL_BYTES).contains(&format.bytes()), "{format:?}");
        assert!(format.bytes().is_power_of_two(), "{format:?}");
    }
    let sizes = [
        (Format::R4g4Unorm, 1),
        (Format::A1r5g5b5Unorm, 2),
        (Format::E5b9g9r9Ufloat, 4),
        (Format::B10g11r11Ufloat, 4),
        (Format::R64Sint, 8),
        (Format::R32g32b32a32Sfloat, 16),
    ];
    for (format, bytes) in sizes {
        assert_eq!(format.bytes(), bytes, "{format:?}");
    }
    assert_eq!(Format::from_name("R8"), None);
}

/// Decoding and encoding again gives the same bytes, but where several of them mean the same.
#[test]
fn all_bytes_survive() {
    for &format in Format::ALL {
        let n = format.bytes();
        for seed in 0..=0xffff_u32 {
            let word = u128::from(seed) * 0x0001_0001_0001_0001_0001_0001_0001_0001;
            let bytes = &word.to_le_bytes()[..n];
            let components = format.decode(bytes);
            let again = &format.encode(components)[..n];
            if again != bytes {
                let ambiguous = matches!(
                    format.numeric(),
                    Numeric::Snorm | Numeric::Ufloat | Numeric::Float | Numeric::SharedExponent
                );
                assert!(ambiguous, "{format:?} {bytes:x?} {again:x?}");
                let (a, b) = (components, format.decode(again));
                let same = a
                    .iter()
                    .zip(&b)
                    .all(|(a, b)| a == b || (bits_float(*a).is_nan() && bits_float(*b).is_nan()));
                assert!(same, "{format:?} {bytes:x?} {again:x?}");
            }
        }
    }
}

#[test]
fn normalised_fractions_are_clamped_and_rounded() {
    let unorm = |x| from_floats(Format::R8Unorm, [x, 0.0, 0.0, 0.0])[0];
    let wanted = [
        (0.0, 0),
        (1.0, 255),
        (2.0, 255),
        (-1.0, 0),
        (f32::NAN, 0),
        (f32::INFINITY, 255),
        (0.5, 128),
        (0.1, 26),
        (1.4 / 255.0, 1),
        (1.6 / 255.0, 2),
    ];
    for (x, byte) in wanted {
        assert_eq!(unorm(x), byte, "{x}");
    }
    let snorm = |x| from_floats(Format::R8Snorm, [x, 0.0, 0.0, 0.0])[0] as i8;
    for (x, byte) in [(1.0, 127), (-1.0, -127), (-7.0, -127), (0.5, 64), (-0.5, -64), (f32::NAN, 0)] {
        assert_eq!(snorm(x), byte, "{x}");
    }
    assert_eq!(floats(Format::R8Snorm, &[0x80]), [-1.0, 0.0, 0.0, 1.0]);
    assert_eq!(floats(Format::R8Snorm, &[0x81]), [-1.0, 0.0, 0.0, 1.0]);
    assert_eq!(floats(Format::R16g16Unorm, &[0xff, 0xff, 1, 0]), [1.0, 1.0 / 65535.0, 0.0, 1.0]);
    assert_eq!(from_floats(Format::R16Unorm, [1.0; 4]), [0xff, 0xff]);
    assert_eq!(from_floats(Format::R16Snorm, [-1.0; 4]), [0x01, 0x80]);
}

#[test]
fn the_order_of_components() {
    let orders = [
        (Format::R8g8b8a8Unorm, [0xff, 0, 0, 0], [1.0, 0.0, 0.0, 0.0]),
        (Format::B8g8r8a8Unorm, [0xff, 0, 0, 0], [0.0, 0.0, 1.0, 0.0]),
        (Format::A2b10g10r10Unorm, [0xff, 3, 0, 0], [1.0, 0.0, 0.0, 0.0]),
        (Format::A2r10g10b10Unorm, [0xff, 3, 0, 0], [0.0, 0.0, 1.0, 0.0]),
        (Format::A2r10g10b10Unorm, [0, 0, 0, 0xc0], [0.0, 0.0, 0.0, 1.0]),
        (Format::R5g6b5Unorm, [0, 0xf8, 0, 0], [1.0, 0.0, 0.0, 1.0]),
        (Format::B5g6r5Unorm, [0, 0xf8, 0, 0], [0.0, 0.0, 1.0, 1.0]),
        (Format::R4g4b4a4Unorm, [0, 0xf0, 0, 0], [1.0, 0.0, 0.0, 0.0]),
        (Format::B4g4r4a4Unorm, [0, 0xf0, 0, 0], [0.0, 0.0, 1.0, 0.0]),
        (Format::A4r4g4b4Unorm, [0, 0xf0, 0, 0], [0.0, 0.0, 0.0, 1.0]),
        (Format::A4b4g4r4Unorm, [0x0f, 0, 0, 0], [1.0, 0.0, 0.0, 0.0]),
        (Format::A1r5g5b5Unorm, [0, 0x80, 0, 0], [0.0, 0.0, 0.0, 1.0]),
        (Format::R5g5b5a1Unorm, [1, 0, 0, 0], [0.0, 0.0, 0.0, 1.0]),
        (Format::B5g5r5a1Unorm, [0x3e, 0, 0, 0], [1.0, 0.0, 0.0, 0.0]),
        (Format::R4g4Unorm, [0xf0, 0, 0, 0], [1.0, 0.0, 0.0, 1.0]),
    ];
    for (format, bytes, wanted) in orders {
        assert_eq!(floats(format, &bytes), wanted, "{format:?}");
        assert_eq!(from_floats(format, wanted), bytes[..format.bytes()], "{format:?}");
    }
}

#[test]
fn integers_keep_their_sign_and_lose_upper_bits() {
    assert_eq!(Format::R8Sint.decode(&[0x80]), [0xffff_ff80, 0, 0, 1]);
    assert_eq!(Format::R8Uint.decode(&[0x80]), [0x80, 0, 0, 1]);
    assert_eq!(Format::R16g16Sint.decode(&[0xff, 0xff, 0xff, 0x7f]), [0xffff_ffff, 0x7fff, 0, 1]);
    assert_eq!(Format::R8Uint.encode([0x1ff, 0, 0, 0])[0], 0xff);
    assert_eq!(Format::A2b10g10r10Sint.decode(&[0xff, 0xff, 0xff, 0xff]), [0xffff_ffff; 4]);
    assert_eq!(Format::R64Sint.decode(&[0xff; 8]), [u64::MAX, 0, 0, 1]);
    assert_eq!(Format::R64Uint.encode([1 << 63, 0, 0, 0])[7], 0x80);
    assert_eq!(
        Format::R32g32Uint.encode([u64::MAX; 4])[..9],
        [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]
    );
}

#[test]
fn floats_without_a_sign() {
    let encode = |x| {
        let bytes = from_floats(Format::B10g11r11Ufloat, [x, 0.0, 0.0, 0.0]);
        bytes.iter().rev().fold(0_u32, |word, &byte| word << 8 | u32::from(byte))
    };
    let wanted = [
        (0.0, 0),
        (-1.0, 0),
        (f32::NEG_INFINITY, 0),
        (1.0, 15 << 6),
        (1.5, 15 << 6 | 32),
        (65024.0, 31 * 64 - 1),
        (65025.0, 31 * 64 - 1),
        (1e30, 31 * 64 - 1),
        (f32::INFINITY, 31 * 64),
        (2.0_f32.powi(-20), 1),
        (2.0_f32.powi(-22), 0),
        (2.0_f32.powi(-14), 1 << 6),
        // Rounds up into the next exponent.
        (2.0 - 1.0 / 256.0, 16 << 6),
    ];
    for (x, bits) in wanted {
        assert_eq!(encode(x), bits, "{x}");
    }
    assert!(floats(Format::B10g11r11Ufloat, &encode(f32::NAN).to_le_bytes())[0].is_nan());
    assert_eq!(from_floats(Format::B10g11r11Ufloat, [0.0, 0.0, 1.0, 0.0]), [0, 0, 0, 0x78]);
}

#[test]
fn a_shared_exponent_is_that_of_the_largest() {
    let format = Format::E5b9g9r9Ufloat;
    for rgb in [[1.0, 0.5, 0.25], [0.0; 3], [65408.0, 256.0, 0.0], [511.0, 1.0, 2.0]] {
        let [red, green, blue] = rgb;
        assert_eq!(floats(format, &from_floats(format, [red, green, blue, 7.0])), [red, green, blue, 1.0]);
    }
    let extremes = floats(format, &from_floats(format, [1e9, -3.0, f32::NAN, 0.0]));
    assert_eq!(extremes, [65408.0, 0.0, 0.0, 1.0]);
    // The mantissa would round up to 512.
    assert_eq!(floats(format, &from_floats(format, [511.9, 0.0, 0.0, 0.0]))[0], 512.0);
}

#[test]
fn srgb_is_linear_in_alpha_only() {
    let [red, green, blue, alpha] = floats(Format::R8g8b8a8Srgb, &[0, 255, 188, 188]);
    assert_eq!((red, green), (0.0, 1.0));
    assert!((blue - 0.5028).abs() < 1e-4, "{blue}");
    assert_eq!(alpha, 188.0 / 255.0);
    assert_eq!(from_floats(Format::B8g8r8a8Srgb, [0.5, 0.0, 1.0, 0.5]), [255, 0, 188, 128]);
}

#[test]
fn missing_bytes_are_zeros() {
    assert_eq!(Format::R32g32Uint.decode(&[1, 2]), [0x0201, 0, 0, 1]);
    assert_eq!(Format::R32Sfloat.decode(&[]), [0, 0, 0, float_bits(1.0)]);
}
