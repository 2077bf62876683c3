//! Tile to memory, the reverse of `load`.
//!
//! Fast paths exist for what programs store, results: widened elements in both orders, and raw rows. Other tiles
//! go by way of short runs.

use super::bounds::Range;
use super::{Access, Path};
use crate::cache::want_soon;
use crate::elem::Elem;
use crate::element::native_row;
use crate::element::run::{At, CHUNK, copy_run};
use crate::simd::{Bf16, E4m3, E5m2, F16, MAX_LANES, Simd, Widen, Word};

/// Writes a matrix.
///
/// # Safety
/// `src` is a tile of the layout, `base` is writable for `size` bytes, the processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn store<S: Simd>(
    access: &Access,
    src: *const u8,
    base: *mut u8,
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
            return checked(access, src, base, range);
        };
        let first = base.wrapping_add(start);
        let raw_rows = access.path == Path::Bytes && !access.column_major;
        match (access.path, elem) {
            (Path::Widen, Elem::F16) => widened::<S, F16>(access, src, first, stride),
            (Path::Widen, Elem::BF16) => widened::<S, Bf16>(access, src, first, stride),
            (Path::Widen, Elem::E4M3) => widened::<S, E4m3>(access, src, first, stride),
            (Path::Widen, Elem::E5M2) => widened::<S, E5m2>(access, src, first, stride),
            (Path::Widen, _) => widened::<S, Word>(access, src, first, stride),
            _ if raw_rows => bytes::<S>(access, src, first, stride),
            _ => checked(access, src, base, range),
        }
    }
}

/// Address of a line.
#[inline(always)]
fn line(first: *mut u8, stride: i64, index: usize) -> *mut u8 {
    first.wrapping_offset((stride as isize).wrapping_mul(index as isize))
}

#[inline(always)]
unsafe fn widened<S: Simd, W: Widen>(access: &Access, src: *const u8, first: *mut u8, stride: i64) {
    // SAFETY: forwarded.
    unsafe {
        if access.column_major {
            columns::<S, W>(access, src, first, stride);
        } else {
            rows::<S, W>(access, src, first, stride);
        }
    }
}

/// So many lines before one is written, the first cache is asked for it: the third may have it.
const AHEAD: usize = 8;

#[inline(always)]
unsafe fn rows<S: Simd, W: Widen>(access: &Access, src: *const u8, first: *mut u8, stride: i64) {
    let (count, len) = access.lines();
    let row_bytes = access.layout.row_bytes();
    let whole = len.is_multiple_of(S::LANES);
    if len == S::LANES {
        // As in loading, the common size gets a loop of its own.
        for row in 0..count {
            // SAFETY: the elements are the row of the tile and the line.
            unsafe {
                let words = S::load(src.add(row * row_bytes), S::LANES * 4);
                W::store::<S>(line(first, stride, row), S::LANES, words);
            }
        }
        return;
    }
    for row in 0..count {
        let soon = line(first, stride, row + AHEAD);
        // SAFETY: the elements are in the row of the tile and in the line.
        unsafe {
            let (from, to) = (src.add(row * row_bytes), line(first, stride, row));
            if whole {
                let mut at = 0;
                while at < len {
                    want_soon(soon.wrapping_add(at * W::BYTES));
                    let words = S::load(from.add(at * 4), S::LANES * 4);
                    W::store::<S>(to.add(at * W::BYTES), S::LANES, words);
                    at += S::LANES;
                }
            } else {
                let mut at = 0;
                while at < len {
                    let n = (len - at).min(S::LANES);
                    W::store::<S>(to.add(at * W::BYTES), n, S::load(from.add(at * 4), n * 4));
                    at += n;
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn columns<S: Simd, W: Widen>(access: &Access, src: *const u8, first: *mut u8, stride: i64) {
    let (cols, rows) = access.lines();
    let row_bytes = access.layout.row_bytes();
    for col in (0..cols).step_by(S::LANES) {
        let width = (cols - col).min(S::LANES);
        for row in (0..rows).step_by(S::LANES) {
            let height = (rows - row).min(S::LANES);
            // The first cache is asked for what is written next: the same columns further down, or the next ones.
            let soon = match (row + S::LANES < rows, col + S::LANES < cols) {
                (true, _) => Some((col, row + S::LANES)),
                (false, true) => Some((col + S::LANES, 0)),
                (false, false) => None,
            };
            // SAFETY: the square lies inside tile and lines, cut to `height` by `width` words.
            unsafe {
                let mut block = [S::zero(); MAX_LANES];
                for (y, words) in block.iter_mut().enumerate().take(height) {
                    *words = S::load(src.add((row + y) * row_bytes + col * 4), width * 4);
                }
                S::transpose(&mut block);
                for (x, words) in block.iter().enumerate().take(width) {
                    if let Some((col, row)) = soon {
                        want_soon(line(first, stride, col + x).wrapping_add(row * W::BYTES));
                    }
                    W::store::<S>(line(first, stride, col + x).add(row * W::BYTES), height, *words);
                }
            }
        }
    }
}

/// Rows that lie in the tile as in memory.
#[inline(always)]
unsafe fn bytes<S: Simd>(access: &Access, src: *const u8, first: *mut u8, stride: i64) {
    let (count, len) = access.lines();
    let bytes = len * access.layout.elem.bytes();
    for row in 0..count {
        let mut at = 0;
        while at < bytes {
            let n = (bytes - at).min(S::LANES * 4);
            // SAFETY: the bytes are in the row of the tile and in the line.
            unsafe {
                let words = S::load(src.add(row * access.layout.row_bytes() + at), n);
                S::store(line(first, stride, row).add(at), n, words);
            }
            at += n;
        }
    }
}

/// Writes by short runs whatever lies inside the buffer.
#[inline(never)]
unsafe fn checked(access: &Access, src: *const u8, base: *mut u8, range: Range) {
    let (count, len) = access.lines();
    let layout = &access.layout;
    let size = layout.elem.bytes();
    let native = native_row(layout.elem, CHUNK as u32);
    for line in 0..count {
        let (mut at, end, mut to) = range.line(line, len);
        while at < end {
            let n = if access.column_major { 1 } else { (end - at).min(CHUNK) };
            let (row, col) = if access.column_major { (at, line) } else { (line, at) };
            // SAFETY: elements `at..end` lie in the buffer, the first of them at `to`.
            unsafe {
                let to = At { layout: &native, tile: base.wrapping_add(to), row: 0, col: 0 };
                copy_run(to, At { layout, tile: src, row, col }, n);
            }
            at += n;
            to += n * size;
        }
    }
}
