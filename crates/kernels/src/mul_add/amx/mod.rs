//! Multiplication in the matrix registers of AMX.
//!
//! A grid of tiles is taken for one product, of blocks of 16 rows (of A and C) or columns (of B and C) by 16 words of the
//! inner dimension: a *block* is what a register holds. Lists of addresses say where the blocks are:
//!
//! ```text
//! for each pair of columns of blocks, for each pair of rows of blocks:
//!     c[2][2] = C                                                  (four registers)
//!     for each block of the inner dimension:
//!         c[i][j] += a[i] * b[j]                                   (two registers each)
//!     R = c[2][2]
//! ```
//!
//! So each block that is read serves two products, which take twice the time of two reads from the first cache. Where
//! blocks lie in the tiles as they are, they are read from there. Where tiles are smaller or end in parts of blocks,
//! blocks are put together in scratch memory, across tiles: two tiles of 16×16 bf16 are one block of A. What the inner
//! dimension lacks of whole blocks is zero in both factors; what rows and columns lack is whatever lies there.
//!
//! Products of bf16 add up in another order than the dot product of vectors does, and do to denormals what that does
//! (see `flush`). Sums are rounded to narrower types where they lie, after each step.
//!
//! # Factors of f16 and of 8 bits
//!
//! A number of f16 is the sum of two of bf16, its upper 8 digits and the 3 below, and the product of two such numbers is
//! the sum of four products, none of which is rounded:
//!
//! ```text
//! (a + a') * (b + b') = a b + a b' + a' b' + a' b
//! ```
//!
//! So words of f32, as which such factors are kept, are split where blocks are put together, into a block of upper parts
//! and one of lower parts, each of twice as many numbers: words 16 apart share one. Four products of blocks are then one
//! of the factors, four times as fast as vectors are in f32. Floats of 8 bits have no lower part, and a single product
//! does. What is infinite has no parts: such factors are left to vectors.
//!
//! A tile that several subgroups multiply is split when it is loaded, into blocks behind it ([`Parts`]).
//!
//! The registers add up products from zero, which has no sign, and add that to the sums: zeros come out without a sign.
//!
//! Here is how a grid is cut, which is planned on any machine; `drive` does it.

#[cfg(target_arch = "x86_64")]
mod drive;
#[cfg(target_arch = "x86_64")]
mod split;

use super::prepare::Scratch;
use super::{MulAdd, MulAddParams};
use crate::cache::LINE;
use crate::elem::{Elem, Use};
use crate::isa::KernelSet;
use crate::layout::TileLayout;
#[cfg(target_arch = "x86_64")]
pub(crate) use drive::{drive, drive_split};
#[cfg(target_arch = "x86_64")]
pub(crate) use split::split_tile;

/// Rows of a register.
pub(crate) const ROWS: usize = 16;
/// Words of 32 bits in a row.
pub(crate) const WORDS: usize = 16;
/// Words of factors that are split, in a row of each part: two share a word.
const SPLIT_WORDS: usize = 2 * WORDS;
/// Bytes of a row.
pub(crate) const ROW_BYTES: usize = 4 * WORDS;
/// Bytes of a register.
pub(crate) const REGISTER_BYTES: usize = ROWS * ROW_BYTES;

/// Rows or columns that tiles consist of, at least: half a block.
const LEAST: u32 = 8;
/// Words of rows of A that tiles consist of, at least.
const LEAST_WORDS: u32 = 4;

/// Words of the inner dimension from which on it gains to copy sums into blocks and back.
const DEEP: u32 = 16;

/// Whether tiles of a multiplication consist of such pieces of blocks as are put together here, and that gains.
pub(super) fn is_possible(params: &MulAddParams) -> bool {
    let is_whole = params.rows.is_multiple_of(ROWS as u32) && params.b.cols.is_multiple_of(WORDS as u32);
    let is_deep = params.k.saturating_mul(params.words) >= DEEP;
    params.rows.is_multiple_of(LEAST)
        && params.b.cols.is_multiple_of(LEAST)
        && params.words.is_multiple_of(LEAST_WORDS)
        && (is_whole || is_deep)
}

/// Rows, columns and words of the inner dimension from which on it gains to split factors of 8 bits.
const LEAST_SPLIT: u32 = 32;

/// Rows times columns for each row and column from which on it gains to multiply the parts of f16, which are four
/// products: the sums take as long as some of those.
const LEAST_REUSE: u32 = 32;

/// Whether factors, which are kept in f32, are short enough to be split, sums are not rounded between steps, and it gains.
pub(super) fn is_possible_split(params: &MulAddParams) -> bool {
    let is_rounded_once = params.r.elem == Elem::F32 || params.relaxed || params.k == 1;
    let [m, n, k] = [(params.m, params.rows), (params.n, params.b.cols), (params.k, params.words)]
        .map(|(tiles, size)| tiles.saturating_mul(size));
    let is_large = m.min(n).min(k) >= LEAST_SPLIT;
    let [a, b] = [&params.a, &params.b].map(|factor| parts_of(factor.elem));
    let is_reused = a.max(b) == 1 || m.saturating_mul(n) / m.saturating_add(n) >= LEAST_REUSE;
    a.min(b) > 0
        && is_rounded_once
        && is_large
        && is_reused
        && params.words.is_multiple_of(WORDS as u32)
        && is_possible(params)
}

/// How many bf16 a number is the sum of, if one is worth splitting.
const fn parts_of(elem: Elem) -> usize {
    match elem {
        Elem::F16 => 2,
        Elem::E4M3 | Elem::E5M2 => 1,
        _ => 0,
    }
}

/// Whether a factor's tiles, if they have parts behind them, have as many as the multiplication wants.
pub(super) fn has_parts(factor: &TileLayout, op: &MulAdd) -> bool {
    let wanted = parts_of(op.a.elem).max(parts_of(op.b.elem));
    Parts::of(factor).is_some_and(|own| own.parts == wanted)
}

/// The parts of a factor behind its tile: a line whose first word tells whether something has no parts, and blocks, those
/// of the inner dimension behind each other and all parts of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Blocks of rows of A, or of columns of B.
    pub(crate) lines: usize,
    /// Blocks of the inner dimension.
    pub(crate) depth: usize,
    /// Parts of each.
    pub(crate) parts: usize,
    /// Where the line is behind the start of the tile, in bytes.
    pub(crate) line: usize,
}

impl Parts {
    /// Those of a factor that consists of whole blocks.
    pub(crate) const fn of(layout: &TileLayout) -> Option<Self> {
        let (lines, words) = match layout.use_ {
            Use::A => (layout.rows as usize, layout.cols as usize),
            Use::B => (layout.cols as usize, layout.rows as usize),
            Use::Accumulator | Use::Any => return None,
        };
        let parts = parts_of(layout.elem);
        let is_whole = lines.is_multiple_of(ROWS) && words.is_multiple_of(SPLIT_WORDS);
        if parts == 0 || !matches!(layout.storage, Elem::F32) || !is_whole {
            return None;
        }
        Some(Self { lines: lines / ROWS, depth: words / SPLIT_WORDS, parts, line: layout.bytes() })
    }

    /// Where a block begins behind the start of the tile, in bytes.
    #[inline(always)]
    pub(crate) const fn block(&self, line: usize, depth: usize, part: usize) -> usize {
        self.line + LINE + ((line * self.depth + depth) * self.parts + part) * REGISTER_BYTES
    }

    /// Bytes from the start of the tile to the end of the blocks.
    const fn end(&self) -> usize {
        self.block(self.lines, 0, 0)
    }
}

impl KernelSet {
    /// Bytes of a factor's tile with its parts, as `LOAD_PARTS` fills it; `None` if these kernels have no use for them.
    #[must_use]
    pub fn bytes_with_parts(self, layout: &TileLayout) -> Option<usize> {
        Parts::of(layout).filter(|_| self.amx()).map(|parts| parts.end())
    }
}

/// How a grid is cut into blocks, and the places of its parts in scratch memory, as byte offsets.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Blocks along the rows, the columns and the inner dimension, there with all parts.
    rows: usize,
    cols: usize,
    depth: usize,
    /// Parts of both factors, where they are split.
    parts: usize,
    /// Whether blocks of A, of B and of the sums lie in tiles as they are.
    a_lies: bool,
    b_lies: bool,
    c_lies: bool,
    a_list: usize,
    b_list: usize,
    c_list: usize,
    r_list: usize,
    a_blocks: usize,
    b_blocks: usize,
    c_blocks: usize,
    /// Bytes in all.
    bytes: usize,
}

impl Cut {
    /// Cuts the grid, of so many tiles along the inner dimension.
    #[inline(always)]
    fn new(params: &MulAddParams, steps: usize) -> Self {
        let (row, col, word) = (params.rows as usize, params.b.cols as usize, params.words as usize);
        let rows = (params.m as usize * row).div_ceil(ROWS);
        let cols = (params.n as usize * col).div_ceil(WORDS);
        let is_split = params.a.storage == Elem::F32;
        let parts = if is_split { parts_of(params.a.elem).max(parts_of(params.b.elem)) } else { 1 };
        let depth = (steps * word).div_ceil(if is_split { SPLIT_WORDS } else { WORDS }) * parts;
        let [row_lies, col_lies, word_lies] = [row, col, word].map(|n| n.is_multiple_of(WORDS));
        let (a_lies, b_lies) = if is_split {
            (params.a_parts, params.b_parts)
        } else {
            (row_lies && word_lies, col_lies && word_lies)
        };
        let c_lies = row_lies && col_lies;
        let mut end = 0;
        let mut take = |count: usize, bytes: usize| {
            let start = end;
            end = (end + count * bytes).next_multiple_of(ROW_BYTES);
            start
        };
        let blocks = |lies: bool, count: usize| if lies { 0 } else { count };
        Self {
            rows,
            cols,
            depth,
            parts,
            a_lies,
            b_lies,
            c_lies,
            a_list: take(rows * depth, size_of::<usize>()),
            b_list: take(cols * depth, size_of::<usize>()),
            c_list: take(rows * cols, size_of::<usize>()),
            r_list: take(rows * cols, size_of::<usize>()),
            a_blocks: take(blocks(a_lies, rows * depth), REGISTER_BYTES),
            b_blocks: take(blocks(b_lies, cols * depth), REGISTER_BYTES),
            c_blocks: take(blocks(c_lies, rows * cols), REGISTER_BYTES),
            bytes: end,
        }
    }
}

/// Bytes of scratch memory: what saturating sums want comes first.
pub(super) fn scratch_bytes(params: &MulAddParams) -> usize {
    let sums = if params.saturating { Scratch::new(params, 1).bytes } else { 0 };
    sums + Cut::new(params, params.k as usize).bytes
}
