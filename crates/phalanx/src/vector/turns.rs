//! Rows of a matrix that take turns ([`MatrixLayout::Paired`](phalanx_ir::MatrixLayout::Paired)), from and to rows one behind
//! the other.

use phalanx_ir::vector::{TURN, paired};

/// Copies pairs of rows of so many bytes, a multiple of a turn: from rows that take turns, or to such.
///
/// # Safety
///
/// As many bytes as the pairs have can be read from `from` and written from `to`, and do not overlap.
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, stride: usize, pairs: usize, take_turns: bool) {
    for row in 0..2 * pairs {
        for byte in (0..stride).step_by(TURN as usize) {
            let (plain, turn) =
                (row * stride + byte, paired(stride as u64, row as u64, byte as u64) as usize);
            let (at, place) = if take_turns { (plain, turn) } else { (turn, plain) };
            // SAFETY: both are inside of the pairs, as they are multiples of a turn.
            unsafe { std::ptr::copy_nonoverlapping(from.add(at), to.add(place), TURN as usize) };
        }
    }
}
