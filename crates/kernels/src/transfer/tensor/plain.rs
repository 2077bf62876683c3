//! The usual access: a rectangle inside of a tensor of two dimensions, maybe transposed by a view. It is a plain load
//! or store as a whole, and is found without the general walk, which takes as long as moving a small matrix.

use super::walk::FAR;
use super::{TensorAccess, TensorWords};

/// Where the lines of a rectangle lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rectangle {
    pub(super) column_major: bool,
    /// Byte of the tensor where the first line begins.
    pub(super) start: u64,
    /// Bytes from a line to the next.
    pub(super) stride: i64,
}

/// Reads a word by itself. The words were written one by one a moment ago: read several at once, they would not be
/// there before all that was stored earlier, and that is the tile of the access before.
fn one(word: &u32) -> u32 {
    // SAFETY: a reference can be read.
    unsafe { std::ptr::read_volatile(word) }
}

/// The rectangle of an access; `None` for all that is not so simple, or not all inside.
pub(super) fn rectangle(access: &TensorAccess, words: &TensorWords) -> Option<Rectangle> {
    // The dimensions along a column and along a row of the matrix. A view without dimensions of its own has the
    // span's, and only changes their order.
    let (down, along) = match (access.dims, access.view_dims, access.permutation) {
        (2, 0, _) | (2, 2, [0, 1, ..]) => (0, 1),
        (2, 2, [1, 0, ..]) => (1, 0),
        _ => return None,
    };
    let (rows, cols) = (access.layout.rows, access.layout.cols);
    let is_clipped = || {
        let [row, row_span, col, col_span] = words.clip.each_ref().map(one);
        row > 0 || col > 0 || row_span < rows || col_span < cols
    };
    let is_clipped = access.view_dims > 0 && is_clipped();
    if access.has_dimensions || is_clipped || one(&words.block[0]) != 1 || one(&words.block[1]) != 1 {
        return None;
    }
    let strides = [one(&words.stride[0]), one(&words.stride[1])];
    let (mut start, mut last, mut index) = (0, 0, 0);
    for (d, &stride) in strides.iter().enumerate() {
        let count = u64::from(if d == down { rows } else { cols });
        let (offset, span) = (u64::from(one(&words.offset[d])), u64::from(one(&words.span[d])));
        let is_even = if d == along { span == count } else { span >= count };
        let is_inside = offset + count <= u64::from(one(&words.dimension[d]).min(1 << 31));
        if !is_even || !is_inside {
            return None;
        }
        // Below 2^63 in each dimension.
        start += offset * u64::from(stride);
        last += (offset + count - 1) * u64::from(stride);
        index = index * span + count - 1;
    }
    // Neither the index in the span nor the address wraps.
    let unit = u64::from(access.unit);
    if index >= 1 << 32 || last.checked_mul(unit).is_none_or(|byte| byte >= FAR) {
        return None;
    }
    let bytes = |d: usize| u64::from(strides[d]) * unit;
    let size = access.layout.elem.bytes() as u64;
    let (column_major, next) = if bytes(along) == size {
        (false, down)
    } else if bytes(down) == size {
        (true, along)
    } else {
        return None;
    };
    Some(Rectangle { column_major, start: start * unit, stride: i64::try_from(bytes(next)).ok()? })
}
