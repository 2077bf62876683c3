//! How a matrix lies in its tile.
//!
//! The layout is chosen from the element type, the use, the size and the instruction set:
//!
//! | elements | stored as | A | B | accumulator, any |
//! |---|---|---|---|---|
//! | f16, f32, e4m3, e5m2 | f32 | rows | rows | rows |
//! | f16 with sums of f16 by FP16 | f16 | rows, columns padded to even | pairs of rows interleaved | f32 rows |
//! | bf16 with a dot product | bf16 | rows, columns padded to even | pairs of rows interleaved | f32 rows |
//! | bf16 without | f32 | rows | rows | rows |
//! | i8 with a dot product | i8 | rows, columns padded to 4 | quads of rows interleaved | rows |
//! | i8 without | i8 | rows, columns padded to 4 | pairs of rows interleaved | rows |
//! | others | themselves | rows | rows | rows |
//!
//! The small floats are widened because vectors multiply in f32 and one matrix is multiplied many times; AMX splits
//! the words again where that gains (`mul_add/amx`). Factors of f16 stay what they are in programs whose sums of f16 are all f16, where the processor adds up in f16. Element (r, c) is storage element `((r / il) * ld + c) * il + r % il` for the interleave `il`.
//!
//! Behind the elements of large factors there is room for a note of where they came from.
//!
//! Invariants: rows of words of 32 and 64 bits (but for A) are padded to whole vectors, or more, so kernels need no masks; rows of
//! narrower elements are padded to whole words. Padding along the inner dimension of A and B is zero, other
//! padding is garbage.

use crate::cache::LINE;
use crate::elem::{Elem, Use};
use crate::isa::{KernelSet, Level};

/// A multiplication reads a few lines of each row of B. Where rows are a multiple of so many bytes apart, those
/// meet in few sets of the first cache, and drive each other out. Such rows are a line longer.
const FAR: usize = 512;

/// Elements of a factor that is large.
const LARGE: usize = 4096;

/// The place of each element of a matrix in its tile.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub struct TileLayout {
    /// Rows of the matrix.
    pub rows: u32,
    /// Columns of the matrix.
    pub cols: u32,
    /// Columns per storage row, with padding. A storage row holds `ld * interleave` storage elements.
    pub ld: u32,
    /// Element type of the matrix.
    pub elem: Elem,
    /// Element type in the tile.
    pub storage: Elem,
    /// Rows that share one storage row: 1, 2 or 4.
    pub interleave: u8,
    /// The role the layout is for.
    pub use_: Use,
}

impl TileLayout {
    /// Size of the tile, a multiple of 64.
    #[inline]
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.source() + if self.has_source() { LINE } else { 0 }
    }

    /// Whether a [`Source`](crate::transfer::Source) is behind the elements: with large factors.
    #[inline(always)]
    pub(crate) const fn has_source(&self) -> bool {
        matches!(self.use_, Use::A | Use::B) && self.elems() >= LARGE
    }

    /// Where it is.
    #[inline(always)]
    pub(crate) const fn source(&self) -> usize {
        (self.storage_rows() * self.row_bytes()).next_multiple_of(LINE)
    }

    /// Byte offset of an element in the tile.
    #[inline(always)]
    #[must_use]
    pub const fn offset(&self, row: usize, col: usize) -> usize {
        let il = self.interleave as usize;
        // Division by a power of two, which the compiler cannot know.
        let shift = il.trailing_zeros();
        let (outer, inner) = (row >> shift, row & (il - 1));
        (((outer * self.ld as usize + col) << shift) + inner) * self.storage.bytes()
    }

    /// Number of elements of the matrix.
    #[inline]
    #[must_use]
    pub const fn elems(&self) -> usize {
        self.rows as usize * self.cols as usize
    }

    /// Number of storage rows.
    #[inline(always)]
    pub(crate) const fn storage_rows(&self) -> usize {
        (self.rows as usize).div_ceil(self.interleave as usize)
    }

    /// Bytes of one storage row.
    #[inline(always)]
    pub(crate) const fn row_bytes(&self) -> usize {
        self.ld as usize * self.interleave as usize * self.storage.bytes()
    }

    /// Storage elements in one 32-bit word.
    #[inline(always)]
    pub(crate) const fn pack(&self) -> usize {
        4 / self.storage.bytes()
    }

    /// Whether some padding of the tile must be zero.
    #[inline(always)]
    pub(crate) const fn has_zero_padding(&self) -> bool {
        match self.use_ {
            Use::A => self.ld > self.cols,
            Use::B => !self.rows.is_multiple_of(self.interleave as u32),
            Use::Accumulator | Use::Any => false,
        }
    }
}

impl KernelSet {
    /// The layout of a matrix of this element type, use and size.
    #[must_use]
    pub fn layout(self, elem: Elem, use_: Use, rows: u32, cols: u32) -> TileLayout {
        let operand = matches!(use_, Use::A | Use::B);
        let storage = match elem {
            Elem::BF16 if self.bf16_dot() && operand => Elem::BF16,
            Elem::F16 if self.keeps_halves() && operand => Elem::F16,
            Elem::F16 | Elem::BF16 | Elem::E4M3 | Elem::E5M2 => Elem::F32,
            Elem::F32 | Elem::F64 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 => elem,
        };
        let interleave = match (use_, storage) {
            (Use::B, Elem::BF16 | Elem::F16) => 2,
            (Use::B, Elem::I8) if self.vnni() => 4,
            (Use::B, Elem::I8) => 2,
            _ => 1,
        };
        // Pairs of bytes become words when they are widened.
        let row_words = storage.bytes() >= 4 || interleave > 1;
        let ld = if row_words && use_ != Use::A {
            cols.next_multiple_of(self.column_step(storage, cols))
        } else {
            let bytes = storage.bytes() as u32 * u32::from(interleave);
            cols.next_multiple_of((4 / bytes).max(1))
        };
        let mut layout = TileLayout { rows, cols, ld, elem, storage, interleave, use_ };
        if row_words && use_ == Use::B && layout.row_bytes().is_multiple_of(FAR) {
            layout.ld += (LINE / (layout.row_bytes() / ld as usize)) as u32;
        }
        layout
    }

    /// What rows of words are padded to: a vector, or half of one for narrow matrices of 32-bit words, two of which
    /// share a vector then.
    pub(crate) fn column_step(self, storage: Elem, cols: u32) -> u32 {
        let lanes = self.words_of(storage);
        let halves = self.level() == Level::Avx512 && storage.bytes() < 8;
        if halves && cols <= lanes / 2 { lanes / 2 } else { lanes }
    }

    /// Words in a vector: of 64 bits where elements have them, otherwise of 32.
    pub(crate) fn words_of(self, storage: Elem) -> u32 {
        self.lanes() as u32 / if storage.bytes() == 8 { 2 } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_distinct_and_inside() {
        for isa in crate::Isa::available() {
            for elem in Elem::ALL {
                for use_ in Use::ALL {
                    for (rows, cols) in [(1, 1), (3, 5), (16, 16), (17, 9), (8, 33)] {
                        let layout = isa.layout(elem, use_, rows, cols);
                        let mut seen = vec![false; layout.bytes()];
                        for (r, c) in (0..rows as usize).flat_map(|r| (0..cols as usize).map(move |c| (r, c)))
                        {
                            let at = layout.offset(r, c);
                            assert!(at + layout.storage.bytes() <= layout.bytes());
                            assert!(!std::mem::replace(&mut seen[at], true), "{layout:?}");
                        }
                    }
                }
            }
        }
    }
}
