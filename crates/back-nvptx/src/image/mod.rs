//! Images and texel buffers: what the host says of one, and the code that finds, reads and writes its texels.
//!
//! A descriptor of an image is the address of a record, which is 0 where nothing is bound:
//!
//! ```text
//! 0    u64 address, u64 bytes          of the memory
//! 16   u32 format[6]                   as `phalanx_emit_llvm::texel` describes it
//! 40   u32 extent[3], u32 layers
//! 56   u64 layer_pitch
//! 64   u32 levels
//! 68   u8 swizzle[4]                   0: zero, 1: one, 2 to 5: red to alpha
//! 72   of each level: u64 offset, u64 row_pitch, u64 slice_pitch
//! ```
//!
//! The code is in functions that all operations of a kernel call. What an address is 0 for lies outside.

mod functions;
mod ops;

pub(crate) use functions::Functions;
use phalanx_emit_llvm::texel::{FORMAT_WORDS, describe};
use phalanx_ir::image::{ImageLayout, MAX_LEVELS, Swizzle};

const FORMAT: u64 = 16;
const TEXEL_BYTES: u64 = FORMAT + 4;
const EXTENT: u64 = FORMAT + 4 * FORMAT_WORDS as u64;
const LAYERS: u64 = EXTENT + 12;
const LAYER_PITCH: u64 = LAYERS + 4;
const LEVELS: u64 = LAYER_PITCH + 8;
const SWIZZLE: u64 = LEVELS + 4;
const LEVEL: u64 = SWIZZLE + 4;
const LEVEL_BYTES: u64 = 24;

/// Bytes of what the host says of an image.
pub const RECORD_BYTES: usize = LEVEL as usize + MAX_LEVELS * LEVEL_BYTES as usize;

/// What code has to know of an image in so many bytes from an address.
pub fn record(layout: &ImageLayout, address: u64, bytes: u64) -> Vec<u8> {
    let swizzle = layout.swizzle.map(|swizzle| match swizzle {
        Swizzle::Zero => 0_u8,
        Swizzle::One => 1,
        Swizzle::Red => 2,
        Swizzle::Green => 3,
        Swizzle::Blue => 4,
        Swizzle::Alpha => 5,
    });
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let longs = |longs: &[u64]| longs.iter().flat_map(|long| long.to_le_bytes()).collect::<Vec<u8>>();
    let mut record = longs(&[address, bytes]);
    record.extend(words(&describe(layout.format)));
    record.extend(words(&layout.extent));
    record.extend(words(&[layout.layers]));
    record.extend(longs(&[layout.layer_pitch]));
    record.extend(words(&[layout.levels]));
    record.extend(swizzle);
    for level in &layout.level {
        record.extend(longs(&[level.offset, level.row_pitch, level.slice_pitch]));
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_ir::Format;

    #[test]
    fn a_record_says_where_things_are() {
        let mut layout = ImageLayout::packed(Format::R8g8b8a8Unorm, [4, 3, 2], 2, 5);
        layout.swizzle[3] = Swizzle::One;
        let record = record(&layout, 0x1000, 77);
        assert_eq!(record.len(), RECORD_BYTES);
        let word = |at: u64| u32::from_le_bytes(record[at as usize..][..4].try_into().expect("four bytes"));
        assert_eq!([word(0), word(8), word(TEXEL_BYTES)], [0x1000, 77, 4]);
        assert_eq!([word(EXTENT), word(EXTENT + 8), word(LAYERS), word(LEVELS)], [4, 2, 5, 2]);
        assert_eq!(word(SWIZZLE), 0x0104_0302);
        let second = LEVEL + LEVEL_BYTES;
        assert_eq!([word(second), word(second + 8), word(second + 16)], [96, 8, 8]);
    }
}
