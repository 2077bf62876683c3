//! Words of f32 as the sums of two bf16 that they are.

use super::{Parts, REGISTER_BYTES, ROW_BYTES, ROWS, SPLIT_WORDS, WORDS};
use crate::elem::Use;
use crate::layout::TileLayout;
use std::arch::x86_64::*;

/// Whether there was something among the words that has no parts.
#[derive(Clone, Copy)]
pub(super) struct Specials(u16);

impl Specials {
    /// Nothing.
    pub(super) const NONE: Self = Self(0);

    /// Whether there was.
    pub(super) const fn any(self) -> bool {
        self.0 != 0
    }

    /// Adds what [`split_tile`] has noted behind a tile.
    ///
    /// # Safety
    /// It has.
    #[inline(always)]
    pub(super) unsafe fn add(&mut self, line: *const u8) {
        // SAFETY: forwarded.
        self.0 |= unsafe { line.cast::<u16>().read() };
    }
}

/// Rows of words, and the bytes from one to the next.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) words: *const u8,
    pub(super) stride: usize,
}

/// A vector of zeros.
static ZEROS: [u32; WORDS] = [0; WORDS];

impl Piece {
    /// As many zeros as anyone reads.
    pub(super) const ZERO: Self = Self { words: (&raw const ZEROS).cast(), stride: 0 };
}

/// Splits two pieces, of so many rows and 4, 8 or 16 words, whose words are to share those of blocks, the second above the
/// first: the upper parts into a block, and where there are two `PARTS` the lower ones into the block behind it.
///
/// # Safety
/// The words are readable, those of the blocks writable; the processor has AVX-512.
#[inline(always)]
pub(super) unsafe fn copy<const PARTS: usize>(
    to: *mut u8,
    pieces: [Piece; 2],
    (rows, words): (usize, usize),
    specials: &mut Specials,
) {
    // SAFETY: forwarded.
    unsafe {
        match words {
            WORDS => copy_rows::<__m512i, PARTS>(to, pieces, rows, specials),
            8 => copy_rows::<__m256i, PARTS>(to, pieces, rows, specials),
            _ => copy_rows::<__m128i, PARTS>(to, pieces, rows, specials),
        }
    }
}

/// Splits a factor that has [`Parts`] into those behind its tile.
///
/// # Safety
/// The tile is of the layout and has room for them behind it; the processor has AVX-512.
#[inline(always)]
pub(crate) unsafe fn split_tile(layout: &TileLayout, tile: *mut u8) {
    let Some(parts) = Parts::of(layout) else { return };
    let stride = layout.row_bytes();
    // Bytes from block to block of the lines and of the inner dimension, and to what shares words with a block's words.
    let (line_step, depth_step, second) = match layout.use_ {
        Use::A => (ROWS * stride, SPLIT_WORDS * 4, WORDS * 4),
        _ => (WORDS * 4, SPLIT_WORDS * stride, WORDS * stride),
    };
    let mut specials = Specials::NONE;
    for line in 0..parts.lines {
        for depth in 0..parts.depth {
            // SAFETY: the blocks are in the tile and behind it.
            unsafe {
                let first = tile.add(line * line_step + depth * depth_step).cast_const();
                let pieces = [first, first.add(second)].map(|words| Piece { words, stride });
                let to = tile.add(parts.block(line, depth, 0));
                match parts.parts {
                    2 => copy::<2>(to, pieces, (ROWS, WORDS), &mut specials),
                    _ => copy::<1>(to, pieces, (ROWS, WORDS), &mut specials),
                }
            }
        }
    }
    // SAFETY: the line is behind the tile.
    unsafe { tile.add(parts.line).cast::<u16>().write(specials.0) };
}

/// Splits rows of one vector.
#[inline(always)]
unsafe fn copy_rows<V: Vector, const PARTS: usize>(
    mut to: *mut u8,
    [mut first, mut second]: [Piece; 2],
    rows: usize,
    specials: &mut Specials,
) {
    let mut seen = 0;
    for _ in 0..rows {
        // SAFETY: the caller vouches for the vectors of all rows.
        unsafe {
            // No closures: they would be compiled without these vectors.
            let (x, y) =
                (first.words.cast::<V>().read_unaligned(), second.words.cast::<V>().read_unaligned());
            seen |= x.specials() | y.specials();
            to.cast::<V>().write_unaligned(V::pair(x, y));
            if PARTS == 2 {
                to.add(REGISTER_BYTES).cast::<V>().write_unaligned(V::pair(x.lower(), y.lower()));
            }
        }
        to = to.wrapping_add(ROW_BYTES);
        first.words = first.words.wrapping_add(first.stride);
        second.words = second.words.wrapping_add(second.stride);
    }
    specials.0 |= seen;
}

/// Words of one vector.
trait Vector: Copy {
    /// Which of them are infinite or no numbers.
    ///
    /// # Safety
    /// The processor has AVX-512.
    unsafe fn specials(self) -> u16;
    /// What a word is more than its upper half, which is its first 8 digits.
    ///
    /// # Safety
    /// The processor has AVX-512.
    unsafe fn lower(self) -> Self;
    /// The upper halves of two words, the second above the first.
    ///
    /// # Safety
    /// The processor has AVX-512.
    unsafe fn pair(first: Self, second: Self) -> Self;
}

/// Infinities and NaNs, as VFPCLASSPS names them.
const NO_PARTS: i32 = 0x99;
/// The upper half of a word.
const UPPER: i32 = 0xffff_0000_u32 as i32;
/// Of three operands `a | (b & c)`, as VPTERNLOGD names it.
const OR_AND: i32 = 0xf8;

macro_rules! vectors {
    ($($vector:ty, $float:ident, $class:ident, $splat:ident, $and:ident, $sub:ident, $bits:ident, $logic:ident,
       $shift:ident;)*) => {$(
        impl Vector for $vector {
            #[inline(always)]
            unsafe fn specials(self) -> u16 {
                // SAFETY: the caller vouches for the processor.
                unsafe { $class::<NO_PARTS>($float(self)).into() }
            }

            #[inline(always)]
            unsafe fn lower(self) -> Self {
                // SAFETY: the caller vouches for the processor.
                unsafe {
                    let upper = $and(self, $splat(UPPER));
                    // Exact: what is left has no more digits than the number.
                    $bits($sub($float(self), $float(upper)))
                }
            }

            #[inline(always)]
            unsafe fn pair(first: Self, second: Self) -> Self {
                // SAFETY: the caller vouches for the processor.
                unsafe { $logic::<OR_AND>($shift::<16>(first), second, $splat(UPPER)) }
            }
        }
    )*};
}

vectors! {
    __m512i, _mm512_castsi512_ps, _mm512_fpclass_ps_mask, _mm512_set1_epi32, _mm512_and_si512, _mm512_sub_ps,
        _mm512_castps_si512, _mm512_ternarylogic_epi32, _mm512_srli_epi32;
    __m256i, _mm256_castsi256_ps, _mm256_fpclass_ps_mask, _mm256_set1_epi32, _mm256_and_si256, _mm256_sub_ps,
        _mm256_castps_si256, _mm256_ternarylogic_epi32, _mm256_srli_epi32;
    __m128i, _mm_castsi128_ps, _mm_fpclass_ps_mask, _mm_set1_epi32, _mm_and_si128, _mm_sub_ps, _mm_castps_si128,
        _mm_ternarylogic_epi32, _mm_srli_epi32;
}
