//! Matrices and biases in memory, as words.
//!
//! A *line* is a row or a column, whichever lies together. Lines of numbers become lines of words, so a matrix of columns
//! stays one: words of several numbers are then made of as many lines. Elements outside of the object are zero; they are
//! copied line by line first, the others are read where they are.

use super::VecMatMulParams;
use super::places::Object;
use crate::cache::LINE;
use crate::elem::Elem;
use crate::simd::{Bf16, E4m3, E5m2, F16, Simd, Widen, Word};
use crate::transfer::bounds::Range;

/// A line of words that is so many bytes long, or a multiple, is followed by a line of the cache that is not used: blocks
/// read the same place of several lines, which would meet in few places of the cache.
const FAR: usize = 512;

/// Stands in for lines beyond the last.
static ZEROS: [u8; 64] = [0; 64];

/// Words of a matrix.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub(super) first: *const u8,
    /// Bytes from a word to the next of its row, and to the next of its column.
    pub(super) along_row: usize,
    pub(super) along_column: usize,
}

/// Lines of a block of a matrix.
#[derive(Clone, Copy)]
struct Lines {
    first: *const u8,
    stride: isize,
    count: usize,
    len: usize,
}

impl Lines {
    #[inline(always)]
    fn line(&self, index: usize) -> *const u8 {
        self.first.wrapping_offset(self.stride.wrapping_mul(index as isize))
    }
}

/// Bytes from a line of so many words to the next.
const fn pitch(words: usize) -> usize {
    let bytes = (words * 4).next_multiple_of(LINE);
    if bytes.is_multiple_of(FAR) { bytes + LINE } else { bytes }
}

/// Bytes that a block of so many rows takes as words.
pub(super) fn block_bytes(p: &VecMatMulParams, rows: usize, per_word: usize) -> usize {
    let words = (p.k as usize).div_ceil(per_word);
    if p.columns { words * pitch(rows) } else { rows * pitch(words) }
}

/// Bytes that it takes as it is in memory, without gaps.
pub(super) fn stage_bytes(p: &VecMatMulParams, rows: usize) -> usize {
    rows * p.k as usize * p.matrix.bytes()
}

/// A matrix in memory.
pub(super) struct Matrix<'a> {
    params: &'a VecMatMulParams,
    object: Object,
    stride: i64,
    /// Whether all of it is inside of the object.
    is_inside: bool,
}

impl<'a> Matrix<'a> {
    pub(super) fn new(params: &'a VecMatMulParams, object: Object, stride: i64) -> Self {
        let (m, k) = (params.m as usize, params.k as usize);
        let (lines, len) = if params.columns { (k, m) } else { (m, k) };
        let range = Range::new(object.offset, stride, object.size, params.matrix.bytes());
        Self { params, object, stride, is_inside: range.whole(lines, len).is_some() }
    }

    /// Rows `row..row + rows` as words of so many numbers. The sign bits of integers are flipped if that is asked for; what
    /// fills up the last word of a row is zero.
    ///
    /// # Safety
    /// The object is readable; `block` and `stage` are as large as [`block_bytes`] and [`stage_bytes`] say, and what is
    /// there lasts as long as the words are used; the processor has the instructions.
    #[inline(always)]
    pub(super) unsafe fn words<S: Simd, const PER_WORD: usize>(
        &self,
        (row, rows): (usize, usize),
        flips: bool,
        (block, stage): (*mut u8, *mut u8),
    ) -> Words {
        let p = self.params;
        let wide = p.matrix == Elem::F32 && self.stride >= 0;
        // SAFETY: forwarded.
        unsafe {
            let lines = self.lines((row, rows), stage);
            if wide {
                let stride = lines.stride as usize;
                let (along_row, along_column) = if p.columns { (stride, 4) } else { (4, stride) };
                return Words { first: lines.first, along_row, along_column };
            }
            let pitch = if p.columns { pitch(rows) } else { pitch(lines.len.div_ceil(PER_WORD)) };
            match p.matrix {
                Elem::F16 => widen::<S, F16>(lines, block, pitch),
                Elem::BF16 => widen::<S, Bf16>(lines, block, pitch),
                Elem::E4M3 => widen::<S, E4m3>(lines, block, pitch),
                Elem::E5M2 => widen::<S, E5m2>(lines, block, pitch),
                Elem::I8 if p.columns => zip::<S, PER_WORD>(p.matrix_signed, flips, lines, block, pitch),
                Elem::I8 if PER_WORD == 4 => copy::<S>(flips, lines, block, pitch),
                Elem::I8 => extend(p.matrix_signed, lines, block, pitch),
                _ => widen::<S, Word>(lines, block, pitch),
            }
            let (along_row, along_column) = if p.columns { (pitch, 4) } else { (4, pitch) };
            Words { first: block, along_row, along_column }
        }
    }

    /// The parts of the lines that are of these rows.
    unsafe fn lines(&self, (row, rows): (usize, usize), stage: *mut u8) -> Lines {
        let (p, size) = (self.params, self.params.matrix.bytes());
        let depth = p.k as usize;
        let (count, len) = if p.columns { (depth, rows) } else { (rows, depth) };
        let skipped =
            if p.columns { (row * size) as u64 } else { (row as u64).wrapping_mul(self.stride as u64) };
        let offset = self.object.offset.wrapping_add(skipped);
        if self.is_inside {
            let first = self.object.base.cast_const().wrapping_add(offset as usize);
            return Lines { first, stride: self.stride as isize, count, len };
        }
        let stride = len * size;
        let range = Range::new(offset, self.stride, self.object.size, size);
        // SAFETY: what the range says is inside of the object; the stage holds all lines.
        unsafe {
            stage.write_bytes(0, count * stride);
            for line in 0..count {
                let (at, end, from) = range.line(line, len);
                let to = stage.add(line * stride + at * size);
                to.copy_from_nonoverlapping(self.object.base.wrapping_add(from), (end - at) * size);
            }
        }
        Lines { first: stage, stride: stride as isize, count, len }
    }
}

/// Widens the elements of lines.
#[inline(always)]
unsafe fn widen<S: Simd, W: Widen>(lines: Lines, to: *mut u8, pitch: usize) {
    for line in 0..lines.count {
        let (from, to) = (lines.line(line), to.wrapping_add(line * pitch));
        let whole = lines.len / S::LANES * S::LANES;
        // SAFETY: the elements are in the line, and a line of words is padded to whole vectors.
        unsafe {
            let mut at = 0;
            while at < whole {
                S::store(
                    to.add(at * 4),
                    S::LANES * 4,
                    W::load::<S>(from.wrapping_add(at * W::BYTES), S::LANES),
                );
                at += S::LANES;
            }
            if at < lines.len {
                let words = W::load::<S>(from.wrapping_add(at * W::BYTES), lines.len - at);
                S::store(to.add(at * 4), S::LANES * 4, words);
            }
        }
    }
}

/// Bytes, one after the other. What fills up a word may become anything: vectors are filled up with zeros.
#[inline(always)]
unsafe fn copy<S: Simd>(flips: bool, lines: Lines, to: *mut u8, pitch: usize) {
    let vector = S::LANES * 4;
    for line in 0..lines.count {
        let (from, to) = (lines.line(line), to.wrapping_add(line * pitch));
        for at in (0..lines.len).step_by(vector) {
            // SAFETY: the bytes are in the line, and a line of words is padded to whole vectors.
            unsafe {
                let words = S::load(from.wrapping_add(at), (lines.len - at).min(vector));
                let words = if flips { S::map(words, |x| x ^ 0x8080_8080) } else { words };
                S::store(to.add(at), vector, words);
            }
        }
    }
}

/// Bytes widened to i16, one after the other.
#[inline(always)]
unsafe fn extend(signed: bool, lines: Lines, to: *mut u8, pitch: usize) {
    for line in 0..lines.count {
        let (from, to) = (lines.line(line), to.wrapping_add(line * pitch).cast::<i16>());
        // SAFETY: the bytes are in the line, and a line of words has room for all its numbers.
        unsafe {
            // Loops over all of a line become vector code.
            if signed {
                for at in 0..lines.len {
                    *to.add(at) = i16::from((*from.add(at)).cast_signed());
                }
            } else {
                for at in 0..lines.len {
                    *to.add(at) = i16::from(*from.add(at));
                }
            }
            if !lines.len.is_multiple_of(2) {
                *to.add(lines.len) = 0;
            }
        }
    }
}

/// Reads bytes and widens them.
///
/// # Safety
/// As for [`Simd`]; there are so many bytes.
#[inline(always)]
unsafe fn byte<S: Simd>(signed: bool, from: *const u8, n: usize) -> S::Words {
    // SAFETY: forwarded.
    unsafe { if signed { S::load_i8(from, n) } else { S::load_u8(from, n) } }
}

/// Words of a byte, or of this widened to i16, of each of some lines.
#[inline(always)]
unsafe fn zip<S: Simd, const PER_WORD: usize>(
    signed: bool,
    flips: bool,
    lines: Lines,
    to: *mut u8,
    pitch: usize,
) {
    for row in 0..lines.count.div_ceil(PER_WORD) {
        for at in (0..lines.len).step_by(S::LANES) {
            let n = (lines.len - at).min(S::LANES);
            let places = std::array::from_fn(|i| match row * PER_WORD + i {
                line if line < lines.count => lines.line(line).wrapping_add(at),
                _ => ZEROS.as_ptr(),
            });
            // SAFETY: the bytes are in the lines, and a line of words is padded to whole vectors.
            unsafe {
                let words = if n == S::LANES {
                    joined::<S, PER_WORD>(signed, S::LANES, places)
                } else {
                    joined::<S, PER_WORD>(signed, n, places)
                };
                // What fills up a word may become anything: vectors are filled up with zeros too.
                let words = if flips { S::map(words, |x| x ^ 0x8080_8080) } else { words };
                S::store(to.add(row * pitch + at * 4), S::LANES * 4, words);
            }
        }
    }
}

/// Words of a byte, or of this widened to i16, from each of some places.
///
/// # Safety
/// As for [`Simd`]; there are `n` bytes at each place.
#[inline(always)]
pub(super) unsafe fn joined<S: Simd, const PER_WORD: usize>(
    signed: bool,
    n: usize,
    places: [*const u8; PER_WORD],
) -> S::Words {
    // SAFETY: forwarded.
    unsafe {
        if PER_WORD == 4 {
            let low = S::or(S::load_u8(places[0], n), S::shl::<8>(S::load_u8(places[1], n)));
            let high = S::or(S::load_u8(places[2], n), S::shl::<8>(S::load_u8(places[3], n)));
            return S::or(low, S::shl::<16>(high));
        }
        let low = S::shr::<16>(S::shl::<16>(byte::<S>(signed, places[0], n)));
        S::or(low, S::shl::<16>(byte::<S>(signed, places[1], n)))
    }
}

/// The bias as words: f32, or i32. Negative zeros of floats become positive, as they would in any sum.
///
/// # Safety
/// The object is readable, `to` has room for a whole number of vectors, `stage` for the bias as it is in memory.
#[inline(always)]
pub(super) unsafe fn bias<S: Simd>(p: &VecMatMulParams, object: Object, to: *mut u8, stage: *mut u8) {
    let (len, size) = (p.m as usize, p.bias.bytes());
    let range = Range::new(object.offset, 0, object.size, size);
    let (at, end, from) = range.line(0, len);
    // SAFETY: what the range says is inside of the object.
    unsafe {
        let mut first = object.base.cast_const().wrapping_add(from);
        if (at, end) != (0, len) {
            stage.write_bytes(0, len * size);
            stage.add(at * size).copy_from_nonoverlapping(first, (end - at) * size);
            first = stage;
        }
        let lines = Lines { first, stride: 0, count: 1, len };
        match p.bias {
            Elem::F16 => widen::<S, F16>(lines, to, 0),
            Elem::BF16 => widen::<S, Bf16>(lines, to, 0),
            Elem::E4M3 => widen::<S, E4m3>(lines, to, 0),
            Elem::E5M2 => widen::<S, E5m2>(lines, to, 0),
            _ => widen::<S, Word>(lines, to, 0),
        }
        if p.bias.is_float() {
            for at in (0..len).step_by(S::LANES) {
                let words = S::load(to.add(at * 4), S::LANES * 4);
                S::store(to.add(at * 4), S::LANES * 4, S::add_f32(words, S::zero()));
            }
        }
    }
}
