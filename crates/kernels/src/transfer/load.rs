//! Memory to tile.
//!
//! A tile is a grid of 32-bit words. A *fetch* makes a vector of words from lines of memory: by widening
//! elements, taking bytes as they are, or zipping two or four lines. When the words run along the rows of the
//! tile they are stored at once; otherwise squares of words are transposed in registers first.

use super::bounds::Range;
use super::{Access, Path, Source};
use crate::cache::{LINE, want_soon};
use crate::elem::{Elem, Use};
use crate::element::run::{At, CHUNK, copy_run};
use crate::element::{native_row, zero_padding};
use crate::simd::{Bf16, E4m3, E5m2, F16, MAX_LANES, Simd, Widen, Word};
use std::marker::PhantomData;

/// So many lines before one is written, the first cache is asked for its place. Tiles of longer rows are in the
/// second.
const AHEAD: usize = 16;
/// So many lines before sums are read, the first cache is asked for them: they come from memory, their rows are far apart.
const FAR_AHEAD: usize = 32;

/// What stands in for lines beyond the last one.
static ZEROS: [u8; 64] = [0; 64];

/// The lines of memory.
#[derive(Clone, Copy)]
struct Lines {
    first: *const u8,
    stride: i64,
    count: usize,
    /// Bytes of one line.
    bytes: usize,
}

impl Lines {
    #[inline(always)]
    fn line(&self, index: usize) -> *const u8 {
        self.first.wrapping_offset((self.stride as isize).wrapping_mul(index as isize))
    }

    /// Line `index` from byte `at` on, or zeros.
    #[inline(always)]
    fn from(&self, index: usize, at: usize) -> *const u8 {
        if index < self.count { self.line(index).wrapping_add(at) } else { ZEROS.as_ptr() }
    }
}

/// A way to make vectors of words.
trait Fetch<S: Simd>: Copy {
    /// Rows of words.
    fn rows(lines: &Lines) -> usize;
    /// Words in each row.
    fn words(lines: &Lines) -> usize;
    /// Whether all rows consist of whole vectors.
    #[inline(always)]
    fn whole(lines: &Lines) -> bool {
        Self::words(lines).is_multiple_of(S::LANES)
    }
    /// Words `at..at + n` of a row; the other words of the vector are zero.
    unsafe fn fetch(lines: &Lines, row: usize, at: usize, n: usize) -> S::Words;
    /// A whole vector of words from `at` on, of rows that consist of whole vectors.
    #[inline(always)]
    unsafe fn fetch_whole(lines: &Lines, row: usize, at: usize) -> S::Words {
        // SAFETY: forwarded.
        unsafe { Self::fetch(lines, row, at, S::LANES) }
    }
    /// Such vectors of as many rows as there are lanes, transposed.
    #[inline(always)]
    unsafe fn fetch_square(lines: &Lines, row: usize, at: usize) -> [S::Words; MAX_LANES] {
        // SAFETY: forwarded.
        unsafe {
            let mut block = [S::zero(); MAX_LANES];
            for (y, words) in block.iter_mut().enumerate().take(S::LANES) {
                *words = Self::fetch_whole(lines, row + y, at);
            }
            S::transpose(&mut block);
            block
        }
    }
    /// Whether there is [`Self::fetch_columns`].
    #[inline(always)]
    fn has_columns() -> bool {
        false
    }
    /// Two such vectors of as many rows as there are lanes, transposed, with the number of each.
    #[inline(always)]
    unsafe fn fetch_columns(_lines: &Lines, _row: usize, _at: usize, _give: impl FnMut(usize, S::Words)) {}
}

/// Widened elements.
#[derive(Clone, Copy)]
struct Widened<W>(PhantomData<W>);

impl<S: Simd, W: Widen> Fetch<S> for Widened<W> {
    #[inline(always)]
    fn rows(lines: &Lines) -> usize {
        lines.count
    }
    #[inline(always)]
    fn words(lines: &Lines) -> usize {
        lines.bytes / W::BYTES
    }
    #[inline(always)]
    unsafe fn fetch(lines: &Lines, row: usize, at: usize, n: usize) -> S::Words {
        // SAFETY: elements `at..at + n` are in the line.
        unsafe { W::load::<S>(lines.line(row).wrapping_add(at * W::BYTES), n) }
    }
    #[inline(always)]
    unsafe fn fetch_square(lines: &Lines, row: usize, at: usize) -> [S::Words; MAX_LANES] {
        // SAFETY: forwarded; lines beyond the square are not read.
        unsafe {
            W::load_transposed::<S>(std::array::from_fn(|y| lines.line(row + y).wrapping_add(at * W::BYTES)))
        }
    }
    #[inline(always)]
    fn has_columns() -> bool {
        W::has_columns::<S>()
    }
    #[inline(always)]
    unsafe fn fetch_columns(lines: &Lines, row: usize, at: usize, give: impl FnMut(usize, S::Words)) {
        // SAFETY: forwarded.
        unsafe {
            let lines = std::array::from_fn(|y| lines.line(row + y).wrapping_add(at * W::BYTES));
            W::load_columns::<S>(lines, give);
        }
    }
}

/// Consecutive bytes; the last word is filled up with zeros.
#[derive(Clone, Copy)]
struct Bytes;

impl<S: Simd> Fetch<S> for Bytes {
    #[inline(always)]
    fn rows(lines: &Lines) -> usize {
        lines.count
    }
    #[inline(always)]
    fn words(lines: &Lines) -> usize {
        lines.bytes.div_ceil(4)
    }
    #[inline(always)]
    fn whole(lines: &Lines) -> bool {
        lines.bytes.is_multiple_of(S::LANES * 4)
    }
    #[inline(always)]
    unsafe fn fetch(lines: &Lines, row: usize, at: usize, n: usize) -> S::Words {
        // SAFETY: the bytes are in the line.
        unsafe { S::load(lines.line(row).wrapping_add(at * 4), (n * 4).min(lines.bytes - at * 4)) }
    }
    #[inline(always)]
    unsafe fn fetch_whole(lines: &Lines, row: usize, at: usize) -> S::Words {
        // SAFETY: the bytes are in the line.
        unsafe { S::load(lines.line(row).wrapping_add(at * 4), S::LANES * 4) }
    }
}

/// 16-bit elements of two lines.
#[derive(Clone, Copy)]
struct Zip2;

impl<S: Simd> Fetch<S> for Zip2 {
    #[inline(always)]
    fn rows(lines: &Lines) -> usize {
        lines.count.div_ceil(2)
    }
    #[inline(always)]
    fn words(lines: &Lines) -> usize {
        lines.bytes / 2
    }
    #[inline(always)]
    unsafe fn fetch(lines: &Lines, row: usize, at: usize, n: usize) -> S::Words {
        // SAFETY: elements `at..at + n` are in the lines; the zeros are as long as a vector.
        unsafe {
            let low = S::load_u16(lines.line(2 * row).wrapping_add(at * 2), n);
            let high = S::load_u16(lines.from(2 * row + 1, at * 2), n);
            S::or(low, S::shl::<16>(high))
        }
    }
}

/// Bytes of four lines.
#[derive(Clone, Copy)]
struct Zip4;

impl<S: Simd> Fetch<S> for Zip4 {
    #[inline(always)]
    fn rows(lines: &Lines) -> usize {
        lines.count.div_ceil(4)
    }
    #[inline(always)]
    fn words(lines: &Lines) -> usize {
        lines.bytes
    }
    #[inline(always)]
    unsafe fn fetch(lines: &Lines, row: usize, at: usize, n: usize) -> S::Words {
        // SAFETY: elements `at..at + n` are in the lines; the zeros are as long as a vector.
        unsafe {
            let x0 = S::load_u8(lines.line(4 * row).wrapping_add(at), n);
            let x1 = S::shl::<8>(S::load_u8(lines.from(4 * row + 1, at), n));
            let x2 = S::shl::<16>(S::load_u8(lines.from(4 * row + 2, at), n));
            let x3 = S::shl::<24>(S::load_u8(lines.from(4 * row + 3, at), n));
            S::or(S::or(x0, x1), S::or(x2, x3))
        }
    }
}

/// Bytes of two lines, of two columns each.
#[derive(Clone, Copy)]
struct ZipBytes;

impl<S: Simd> Fetch<S> for ZipBytes {
    #[inline(always)]
    fn rows(lines: &Lines) -> usize {
        lines.count.div_ceil(2)
    }
    #[inline(always)]
    fn words(lines: &Lines) -> usize {
        lines.bytes / 2
    }
    #[inline(always)]
    unsafe fn fetch(lines: &Lines, row: usize, at: usize, n: usize) -> S::Words {
        // SAFETY: bytes `2 * at..2 * (at + n)` are in the lines; the zeros are as long as a vector.
        unsafe {
            let apart = |line| S::map(S::load_u16(line, n), |x| (x | x << 8) & 0x00ff_00ff);
            let low = apart(lines.line(2 * row).wrapping_add(at * 2));
            let high = apart(lines.from(2 * row + 1, at * 2));
            S::or(low, S::shl::<8>(high))
        }
    }
}

/// Reads a matrix.
///
/// # Safety
/// `dst` is a tile of the layout, `base` is readable for `size` bytes, the processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn load<S: Simd>(
    access: &Access,
    dst: *mut u8,
    base: *const u8,
    size: u64,
    offset: u64,
    stride: i64,
) {
    let (count, len) = access.lines();
    let elem = access.layout.elem;
    let range = Range::new(offset, stride, size, elem.bytes());
    // SAFETY: forwarded; the fast paths touch only whole lines, which were tested to lie inside.
    unsafe {
        let Some(start) = range.whole(count, len) else {
            return checked(access, dst, base, range);
        };
        let lines = Lines { first: base.wrapping_add(start), stride, count, bytes: len * elem.bytes() };
        if access.layout.has_source() {
            let source =
                Source { first: lines.first, stride, lines: count as u32, bytes: lines.bytes as u32 };
            dst.add(access.layout.source()).cast::<Source>().write_unaligned(source);
        }
        match (access.path, elem) {
            (Path::Scalar, _) => checked(access, dst, base, range),
            (Path::Widen, Elem::F16) => words::<S, Widened<F16>>(access, dst, &lines),
            (Path::Widen, Elem::BF16) => words::<S, Widened<Bf16>>(access, dst, &lines),
            (Path::Widen, Elem::E4M3) => words::<S, Widened<E4m3>>(access, dst, &lines),
            (Path::Widen, Elem::E5M2) => words::<S, Widened<E5m2>>(access, dst, &lines),
            (Path::Widen, _) => words::<S, Widened<Word>>(access, dst, &lines),
            (Path::Bytes, _) if short_rows(access, dst, &lines) => {}
            (Path::Bytes, _) => words::<S, Bytes>(access, dst, &lines),
            (Path::Zip2, _) => words::<S, Zip2>(access, dst, &lines),
            (Path::Zip4, _) => words::<S, Zip4>(access, dst, &lines),
            (Path::ZipBytes, _) => words::<S, ZipBytes>(access, dst, &lines),
        }
    }
}

/// Copies unpadded rows of 16 or 32 bytes, the usual ones of A, for which masks would cost more than they do.
#[inline(always)]
unsafe fn short_rows(access: &Access, dst: *mut u8, lines: &Lines) -> bool {
    let row_bytes = access.layout.row_bytes();
    if access.column_major || lines.bytes != row_bytes {
        return false;
    }
    // SAFETY: the bytes are the row of the tile.
    unsafe {
        match row_bytes {
            16 => (0..lines.count).for_each(|row| {
                dst.add(row * 16)
                    .cast::<[u8; 16]>()
                    .write_unaligned(lines.line(row).cast::<[u8; 16]>().read_unaligned());
            }),
            32 => (0..lines.count).for_each(|row| {
                dst.add(row * 32)
                    .cast::<[u8; 32]>()
                    .write_unaligned(lines.line(row).cast::<[u8; 32]>().read_unaligned());
            }),
            _ => return false,
        }
    }
    true
}

#[inline(always)]
unsafe fn words<S: Simd, F: Fetch<S>>(access: &Access, dst: *mut u8, lines: &Lines) {
    // Column-major lines of interleaved rows zip into rows of the tile when they run across the interleave.
    // SAFETY: forwarded.
    unsafe {
        if access.column_major {
            transposed::<S, F>(access, dst, lines);
        } else {
            direct::<S, F>(access, dst, lines);
        }
    }
}

/// Words run along the rows of the tile.
#[inline(always)]
unsafe fn direct<S: Simd, F: Fetch<S>>(access: &Access, dst: *mut u8, lines: &Lines) {
    let row_bytes = access.layout.row_bytes();
    let words = F::words(lines);
    let whole = F::whole(lines);
    // A loop over the few vectors of a row would cost more than they do.
    // SAFETY: the words are the rows of the tile.
    unsafe {
        match words / S::LANES {
            1 if whole => return whole_rows::<S, F, 1>(access, dst, lines),
            2 if whole => return whole_rows::<S, F, 2>(access, dst, lines),
            4 if whole => return whole_rows::<S, F, 4>(access, dst, lines),
            8 if whole && S::LANES < MAX_LANES => return whole_rows::<S, F, 8>(access, dst, lines),
            0 if 2 * words == S::LANES => return half_rows::<S, F>(access, dst, lines),
            _ => {}
        }
    }
    for row in 0..F::rows(lines) {
        // SAFETY: the words are in the row of the tile.
        unsafe {
            let to = dst.add(row * row_bytes);
            if whole {
                let mut at = 0;
                while at < words {
                    S::store(to.add(at * 4), S::LANES * 4, F::fetch_whole(lines, row, at));
                    at += S::LANES;
                }
            } else {
                let mut at = 0;
                while at < words {
                    let n = (words - at).min(S::LANES);
                    S::store(to.add(at * 4), n * 4, F::fetch(lines, row, at, n));
                    at += n;
                }
            }
        }
    }
}

/// The same for rows of half a vector, as matrices of eight columns have: how many words there are is known, and where rows of
/// the tile are filled up to a vector, zeros are stored with them.
#[inline(always)]
unsafe fn half_rows<S: Simd, F: Fetch<S>>(access: &Access, dst: *mut u8, lines: &Lines) {
    let row_bytes = access.layout.row_bytes();
    let (half, all) = (S::LANES / 2, S::LANES * 4);
    for row in 0..F::rows(lines) {
        let to = dst.wrapping_add(row * row_bytes);
        // SAFETY: the words, and what a row of the tile is filled up with, are in the row.
        unsafe {
            let words = F::fetch(lines, row, 0, half);
            if row_bytes == all {
                S::store(to, all, words);
            } else {
                S::store(to, half * 4, words);
            }
        }
    }
}

/// The same for rows of `N` whole vectors.
#[inline(always)]
unsafe fn whole_rows<S: Simd, F: Fetch<S>, const N: usize>(access: &Access, dst: *mut u8, lines: &Lines) {
    let bytes = N * S::LANES * 4;
    // Factors have been asked for.
    let is_far = bytes > LINE && access.layout.use_ == Use::Accumulator;
    // SAFETY: forwarded.
    unsafe {
        if is_far {
            rows_asked_for::<S, F, N, true>(access, dst, lines);
        } else {
            rows_asked_for::<S, F, N, false>(access, dst, lines);
        }
    }
}

#[inline(always)]
unsafe fn rows_asked_for<S: Simd, F: Fetch<S>, const N: usize, const IS_FAR: bool>(
    access: &Access,
    dst: *mut u8,
    lines: &Lines,
) {
    let row_bytes = access.layout.row_bytes();
    let (rows, row_lines) = (F::rows(lines), (N * S::LANES * 4).div_ceil(LINE));
    for row in 0..rows {
        let to = dst.wrapping_add(row * row_bytes);
        let soon = to.wrapping_add(AHEAD / row_lines * row_bytes);
        for x in 0..N {
            let at = x * S::LANES * 4;
            let is_line = row_lines > 1 && at.is_multiple_of(LINE);
            if is_line {
                want_soon(soon.wrapping_add(at));
            }
            if IS_FAR && is_line && row + FAR_AHEAD / row_lines < rows {
                want_soon(lines.line(row + FAR_AHEAD / row_lines).wrapping_add(lines.bytes / N * x));
            }
            // SAFETY: the words are in the row of the tile.
            unsafe {
                let words = F::fetch_whole(lines, row, x * S::LANES);
                S::store(to.add(at), S::LANES * 4, words);
            }
        }
    }
}

/// Words run along the columns of the tile.
#[inline(always)]
unsafe fn transposed<S: Simd, F: Fetch<S>>(access: &Access, dst: *mut u8, lines: &Lines) {
    let row_bytes = access.layout.row_bytes();
    let (rows, words, whole) = (F::rows(lines), F::words(lines), F::whole(lines));
    if lines.stride == 0 && whole && rows.is_multiple_of(S::LANES) {
        // SAFETY: forwarded.
        return unsafe { repeated::<S, F>(access, dst, lines) };
    }
    // Lines that are a multiple of some thousands of bytes apart share a set of the first cache, which is too small for
    // those of a square: what is not read of them at once is waited for again.
    let is_wide = F::has_columns() && whole && words.is_multiple_of(2 * S::LANES);
    for row in (0..rows).step_by(S::LANES) {
        let width = (rows - row).min(S::LANES);
        if is_wide && width == S::LANES {
            // SAFETY: the rows and all their words lie inside lines and tile.
            unsafe { wide_rows::<S, F>(dst, row_bytes, lines, (row, words)) };
            continue;
        }
        for at in (0..words).step_by(S::LANES) {
            let height = (words - at).min(S::LANES);
            // SAFETY: the square lies inside lines and tile, cut to `height` by `width` words.
            unsafe {
                let to = dst.add(at * row_bytes + row * 4);
                if whole && width == S::LANES {
                    // The next square: below, or at the top of the next columns.
                    let is_last = at + S::LANES >= words;
                    let (next, down) = if is_last { (row + S::LANES, 0) } else { (row, at + S::LANES) };
                    for x in 0..S::LANES {
                        want_soon(dst.wrapping_add((down + x) * row_bytes + next * 4));
                    }
                    let block = F::fetch_square(lines, row, at);
                    for (x, words) in block.iter().enumerate().take(S::LANES) {
                        S::store(to.add(x * row_bytes), S::LANES * 4, *words);
                    }
                } else {
                    let mut block = [S::zero(); MAX_LANES];
                    for (y, words) in block.iter_mut().enumerate().take(width) {
                        *words = F::fetch(lines, row + y, at, height);
                    }
                    S::transpose(&mut block);
                    for (x, words) in block.iter().enumerate().take(height) {
                        S::store(to.add(x * row_bytes), width * 4, *words);
                    }
                }
            }
        }
    }
}

/// The words of as many rows as a vector has, two vectors of each row at once.
#[inline(always)]
unsafe fn wide_rows<S: Simd, F: Fetch<S>>(
    dst: *mut u8,
    row_bytes: usize,
    lines: &Lines,
    (row, words): (usize, usize),
) {
    for at in (0..words).step_by(2 * S::LANES) {
        let is_last = at + 2 * S::LANES >= words;
        let (next, down) = if is_last { (row + S::LANES, 0) } else { (row, at + 2 * S::LANES) };
        for x in 0..2 * S::LANES {
            want_soon(dst.wrapping_add((down + x) * row_bytes + next * 4));
        }
        let to = dst.wrapping_add(at * row_bytes + row * 4);
        // SAFETY: forwarded.
        unsafe {
            F::fetch_columns(lines, row, at, |x, words| {
                S::store(to.add(x * row_bytes), S::LANES * 4, words);
            });
        }
    }
}

/// All columns of the tile are one line: what was transposed once stands in every vector of a row.
#[inline(always)]
unsafe fn repeated<S: Simd, F: Fetch<S>>(access: &Access, dst: *mut u8, lines: &Lines) {
    let row_bytes = access.layout.row_bytes();
    let (rows, words) = (F::rows(lines), F::words(lines));
    for at in (0..words).step_by(S::LANES) {
        // SAFETY: lines and rows consist of whole vectors.
        unsafe {
            let mut block = [S::zero(); MAX_LANES];
            block.iter_mut().take(S::LANES).for_each(|words| *words = F::fetch_whole(lines, 0, at));
            S::transpose(&mut block);
            for (x, words) in block.iter().enumerate().take(S::LANES) {
                let to = dst.add((at + x) * row_bytes);
                for row in (0..rows).step_by(S::LANES) {
                    S::store(to.add(row * 4), S::LANES * 4, *words);
                }
            }
        }
    }
}

/// Reads element by element, or by short runs of a row, whatever lies inside the buffer.
#[inline(never)]
unsafe fn checked(access: &Access, dst: *mut u8, base: *const u8, range: Range) {
    let (count, len) = access.lines();
    let size = access.layout.elem.bytes();
    let native = native_row(access.layout.elem, CHUNK as u32);
    for line in 0..count {
        let (first, end, start) = range.line(line, len);
        for from in (0..len).step_by(CHUNK) {
            let n = (len - from).min(CHUNK);
            let mut stage = [0_u64; CHUNK];
            let stage = stage.as_mut_ptr().cast::<u8>();
            let (inside, inside_end) = (first.clamp(from, from + n), end.clamp(from, from + n));
            // SAFETY: elements `first..end` lie in the buffer, the first of them at `start`; the stage holds a
            // chunk of any type.
            unsafe {
                if inside < inside_end {
                    let src = base.wrapping_add(start + (inside - first) * size);
                    stage
                        .add((inside - from) * size)
                        .copy_from_nonoverlapping(src, (inside_end - inside) * size);
                }
                put(access, dst, (line, from, n), stage, &native);
            }
        }
    }
    // SAFETY: forwarded.
    unsafe { zero_padding(&access.layout, dst) };
}

/// Writes `n` staged elements of a line to the tile.
unsafe fn put(
    access: &Access,
    dst: *mut u8,
    (line, from, n): (usize, usize, usize),
    stage: *const u8,
    native: &crate::layout::TileLayout,
) {
    let layout = &access.layout;
    // SAFETY: the elements are in the tile and in the stage.
    unsafe {
        if access.column_major {
            for i in 0..n {
                let to = At { layout, tile: dst, row: from + i, col: line };
                copy_run(to, At { layout: native, tile: stage, row: 0, col: i }, 1);
            }
        } else {
            let to = At { layout, tile: dst, row: line, col: from };
            copy_run(to, At { layout: native, tile: stage, row: 0, col: 0 }, n);
        }
    }
}
