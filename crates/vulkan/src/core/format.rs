//! Formats of texels: those that kernels read, write and sample. Others the device does not have.

use phalanx::Format as Texel;
use smallvec::SmallVec;
use vulkanalia_sys as vk;

/// How texels of a format lie in memory; nothing if the device does not have it.
pub(crate) fn texel(format: vk::Format) -> Option<Texel> {
    TEXELS.iter().find(|(found, _)| *found == format).map(|(_, texel)| *texel)
}

/// The bytes of a texel of a colour. Vulkan says nothing of values that a format cannot have; they are clamped
/// or cut.
pub(crate) fn encode(texel: Texel, color: [u32; 4]) -> SmallVec<[u8; 16]> {
    let components = match texel {
        // One component, of the first two words (`VkClearColorValue`).
        Texel::R64Uint | Texel::R64Sint => {
            let [low, high, _, _] = color.map(u64::from);
            [low | high << 32, 0, 0, 0]
        }
        _ => color.map(u64::from),
    };
    texel.encode(components).into_iter().take(texel.bytes()).collect()
}

macro_rules! texels {
    ($($format:ident: $texel:ident,)*) => {
        /// The formats of Vulkan that are read and written, in its order.
        const TEXELS: &[(vk::Format, Texel)] = &[$((vk::Format::$format, Texel::$texel)),*];
    };
}

texels! {
    R4G4_UNORM_PACK8: R4g4Unorm,
    R4G4B4A4_UNORM_PACK16: R4g4b4a4Unorm,
    B4G4R4A4_UNORM_PACK16: B4g4r4a4Unorm,
    R5G6B5_UNORM_PACK16: R5g6b5Unorm,
    B5G6R5_UNORM_PACK16: B5g6r5Unorm,
    R5G5B5A1_UNORM_PACK16: R5g5b5a1Unorm,
    B5G5R5A1_UNORM_PACK16: B5g5r5a1Unorm,
    A1R5G5B5_UNORM_PACK16: A1r5g5b5Unorm,
    R8_UNORM: R8Unorm,
    R8_SNORM: R8Snorm,
    R8_UINT: R8Uint,
    R8_SINT: R8Sint,
    R8_SRGB: R8Srgb,
    R8G8_UNORM: R8g8Unorm,
    R8G8_SNORM: R8g8Snorm,
    R8G8_UINT: R8g8Uint,
    R8G8_SINT: R8g8Sint,
    R8G8_SRGB: R8g8Srgb,
    R8G8B8A8_UNORM: R8g8b8a8Unorm,
    R8G8B8A8_SNORM: R8g8b8a8Snorm,
    R8G8B8A8_UINT: R8g8b8a8Uint,
    R8G8B8A8_SINT: R8g8b8a8Sint,
    R8G8B8A8_SRGB: R8g8b8a8Srgb,
    B8G8R8A8_UNORM: B8g8r8a8Unorm,
    B8G8R8A8_SNORM: B8g8r8a8Snorm,
    B8G8R8A8_UINT: B8g8r8a8Uint,
    B8G8R8A8_SINT: B8g8r8a8Sint,
    B8G8R8A8_SRGB: B8g8r8a8Srgb,
    // Words whose bytes lie as red, green, blue and alpha.
    A8B8G8R8_UNORM_PACK32: R8g8b8a8Unorm,
    A8B8G8R8_SNORM_PACK32: R8g8b8a8Snorm,
    A8B8G8R8_UINT_PACK32: R8g8b8a8Uint,
    A8B8G8R8_SINT_PACK32: R8g8b8a8Sint,
    A8B8G8R8_SRGB_PACK32: R8g8b8a8Srgb,
    A2R10G10B10_UNORM_PACK32: A2r10g10b10Unorm,
    A2R10G10B10_SNORM_PACK32: A2r10g10b10Snorm,
    A2R10G10B10_UINT_PACK32: A2r10g10b10Uint,
    A2R10G10B10_SINT_PACK32: A2r10g10b10Sint,
    A2B10G10R10_UNORM_PACK32: A2b10g10r10Unorm,
    A2B10G10R10_SNORM_PACK32: A2b10g10r10Snorm,
    A2B10G10R10_UINT_PACK32: A2b10g10r10Uint,
    A2B10G10R10_SINT_PACK32: A2b10g10r10Sint,
    R16_UNORM: R16Unorm,
    R16_SNORM: R16Snorm,
    R16_UINT: R16Uint,
    R16_SINT: R16Sint,
    R16_SFLOAT: R16Sfloat,
    R16G16_UNORM: R16g16Unorm,
    R16G16_SNORM: R16g16Snorm,
    R16G16_UINT: R16g16Uint,
    R16G16_SINT: R16g16Sint,
    R16G16_SFLOAT: R16g16Sfloat,
    R16G16B16A16_UNORM: R16g16b16a16Unorm,
    R16G16B16A16_SNORM: R16g16b16a16Snorm,
    R16G16B16A16_UINT: R16g16b16a16Uint,
    R16G16B16A16_SINT: R16g16b16a16Sint,
    R16G16B16A16_SFLOAT: R16g16b16a16Sfloat,
    R32_UINT: R32Uint,
    R32_SINT: R32Sint,
    R32_SFLOAT: R32Sfloat,
    R32G32_UINT: R32g32Uint,
    R32G32_SINT: R32g32Sint,
    R32G32_SFLOAT: R32g32Sfloat,
    R32G32B32A32_UINT: R32g32b32a32Uint,
    R32G32B32A32_SINT: R32g32b32a32Sint,
    R32G32B32A32_SFLOAT: R32g32b32a32Sfloat,
    R64_UINT: R64Uint,
    R64_SINT: R64Sint,
    B10G11R11_UFLOAT_PACK32: B10g11r11Ufloat,
    E5B9G9R9_UFLOAT_PACK32: E5b9g9r9Ufloat,
    D16_UNORM: D16Unorm,
    D32_SFLOAT: D32Sfloat,
    A4R4G4B4_UNORM_PACK16: A4r4g4b4Unorm,
    A4B4G4R4_UNORM_PACK16: A4b4g4r4Unorm,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_texel_has_a_format() {
        for texel in Texel::ALL {
            assert!(TEXELS.iter().any(|(_, found)| found == texel), "{}", texel.name());
        }
    }

    #[test]
    fn texels_have_the_size_that_their_names_say() {
        for (format, texel) in TEXELS {
            // The digits of a name before its first underscore are the bits of the components.
            let name = format!("{format:?}");
            let bits: Vec<usize> = name
                .split('_')
                .next()
                .unwrap_or_default()
                .split(|letter: char| !letter.is_ascii_digit())
                .filter_map(|digits| digits.parse().ok())
                .collect();
            assert_eq!(bits.iter().sum::<usize>(), 8 * texel.bytes(), "{name}");
        }
    }
    #[test]
    fn colours_become_texels() {
        let float = |colour: [f32; 4]| colour.map(f32::to_bits);
        let half = encode(Texel::R8g8b8a8Unorm, float([1.0, 0.0, 2.0, -1.0]));
        assert_eq!(half.as_slice(), [255, 0, 255, 0]);
        assert_eq!(encode(Texel::R16Sint, [-2_i32 as u32, 1, 1, 1]).as_slice(), [0xFE, 0xFF]);
        assert_eq!(encode(Texel::R64Sint, [5, 0x8000_0000, 6, 7]).as_slice(), [5, 0, 0, 0, 0, 0, 0, 0x80]);
    }
}
