//! The elements of two matrices, one behind the other, from some element on.
//!
//! An offset is a number of whole rows and a rest: the result's row `i` is the end of row `whole + i` of the two
//! matrices and, where there is a rest, the start of the next one. Where rows lie one behind the other without
//! interleaving, those are runs of bytes; without a rest, all rows that come from one matrix are one run, padding
//! included. The rows of interleaved tiles are runs where they are moved by whole groups of interleaved rows. What
//! remains is done element by element.

use super::{ElementParams, zero_padding};
use crate::layout::TileLayout;

/// Bytes that are moved at once.
const LINE: usize = 64;

/// Writes the rotated matrix. An offset below 0 counts as 0, and one beyond the size of a matrix as that size.
///
/// # Safety
/// The contract of [`crate::RotateFn`].
#[inline(always)]
pub(crate) unsafe fn rotate(
    p: &ElementParams,
    dst: *mut u8,
    first: *const u8,
    second: *const u8,
    offset: i32,
) {
    let layout = &p.layout;
    let offset = offset.max(0).cast_unsigned().min(layout.rows * layout.cols);
    let (whole, rest) = ((offset / layout.cols) as usize, (offset % layout.cols) as usize);
    let (rows, group) = (layout.rows as usize, usize::from(layout.interleave));
    // Groups are powers of two, which the compiler cannot know.
    let shift = group.trailing_zeros();
    // SAFETY: what is read is inside of the operands, and what is written inside of the result, as all rows are below
    // `rows` in their tile.
    unsafe {
        if rest == 0 && (whole | rows) & (group - 1) == 0 {
            let bytes = layout.row_bytes();
            let (start, left) = ((whole >> shift) * bytes, ((rows - whole) >> shift) * bytes);
            copy(dst, first.add(start), left);
            copy(dst.add(left), second, start);
        } else if group == 1 {
            by_rows(layout, dst, [first, second], whole, rest);
        } else {
            by_elements(layout, dst, [first, second], offset as usize);
        }
    }
}

/// # Safety
/// As for [`rotate`]; rows are not interleaved, and `whole * cols + rest` is at most the size of a matrix.
#[inline(always)]
unsafe fn by_rows(layout: &TileLayout, dst: *mut u8, from: [*const u8; 2], whole: usize, rest: usize) {
    let (rows, bytes, size) = (layout.rows as usize, layout.row_bytes(), layout.storage.bytes());
    let (end, start) = ((layout.cols as usize - rest) * size, rest * size);
    // SAFETY: row `2 * rows` is never read: with a rest, the last row that is needed is `whole + rows`, and `whole` is
    // below `rows`; without one, it is `whole + rows - 1`.
    unsafe {
        let row = |i: usize| if i < rows { from[0].add(i * bytes) } else { from[1].add((i - rows) * bytes) };
        for i in 0..rows {
            let to = dst.add(i * bytes);
            copy(to, row(whole + i).add(start), end);
            if rest > 0 {
                copy(to.add(end), row(whole + i + 1), start);
            }
        }
        zero_padding(layout, dst);
    }
}

/// # Safety
/// As for [`rotate`]; the offset is at most the size of a matrix.
#[inline(always)]
unsafe fn by_elements(layout: &TileLayout, dst: *mut u8, from: [*const u8; 2], offset: usize) {
    let (cols, size) = (layout.cols as usize, layout.storage.bytes());
    let elems = layout.elems();
    // SAFETY: element numbers are below the matrices' size.
    unsafe {
        for to in 0..elems {
            let at = to + offset;
            let (tile, at) = if at < elems { (from[0], at) } else { (from[1], at - elems) };
            let at = tile.add(layout.offset(at / cols, at % cols));
            dst.add(layout.offset(to / cols, to % cols)).copy_from_nonoverlapping(at, size);
        }
        zero_padding(layout, dst);
    }
}

/// Copies bytes by whole lines, and fewer by two words that may overlap: for the few bytes of a matrix that is faster than
/// a call of `memcpy`.
///
/// # Safety
/// The bytes can be read and written, and what is read does not overlap with what is written.
#[inline(always)]
unsafe fn copy(dst: *mut u8, src: *const u8, bytes: usize) {
    // SAFETY: each piece lies inside of the bytes, as the last one ends where they end.
    unsafe {
        match bytes {
            LINE.. => {
                let mut at = 0;
                while at < bytes - LINE {
                    move_one::<LINE>(dst, src, at);
                    at += LINE;
                }
                move_one::<LINE>(dst, src, bytes - LINE);
            }
            32.. => move_two::<32>(dst, src, bytes),
            16.. => move_two::<16>(dst, src, bytes),
            8.. => move_two::<8>(dst, src, bytes),
            4.. => move_two::<4>(dst, src, bytes),
            _ => (0..bytes).for_each(|at| move_one::<1>(dst, src, at)),
        }
    }
}

/// Moves the first and the last `N` of so many bytes.
///
/// # Safety
/// As for [`copy`]; there are at least `N` bytes.
#[inline(always)]
unsafe fn move_two<const N: usize>(dst: *mut u8, src: *const u8, bytes: usize) {
    // SAFETY: forwarded.
    unsafe {
        move_one::<N>(dst, src, 0);
        move_one::<N>(dst, src, bytes - N);
    }
}

/// Moves `N` bytes that are `at` bytes on.
///
/// # Safety
/// They can be read and written.
#[inline(always)]
unsafe fn move_one<const N: usize>(dst: *mut u8, src: *const u8, at: usize) {
    // SAFETY: forwarded.
    unsafe { dst.add(at).cast::<[u8; N]>().write_unaligned(src.add(at).cast::<[u8; N]>().read_unaligned()) };
}
