//! Saturating sums of integers that need not fit 64 bits.
//!
//! A factor is a number of at most 64 bits with or without a sign, so a product needs up to 129 bits, and a sum of
//! them more. The right factor is taken as `high * 2^32 + low`; the sums of the left one times each half fit 128
//! bits for any inner dimension, and are put together once, when the sum is clamped.

use super::MulAddParams;
use super::general::{Addend, narrow_run, widen};
use super::panel::Operands;
use crate::element::run::{At, CHUNK};
use crate::layout::TileLayout;

/// Whether sums may leave the range of 64 bits.
pub(super) fn is_wanted(params: &MulAddParams) -> bool {
    let bits = |layout: &TileLayout| 8 * layout.elem.bytes() as u32;
    bits(&params.a) + bits(&params.b) + params.b.rows.next_power_of_two().ilog2() > 62
}

/// The number that a widened element is. One of 64 bits without a sign comes with its bits, others by value.
#[inline(always)]
pub(super) fn value(bits: i64, signed: bool) -> i128 {
    if signed { i128::from(bits) } else { i128::from(bits as u64) }
}

/// The least and the greatest number of the result's type.
#[inline(always)]
pub(super) fn range(params: &MulAddParams) -> (i128, i128) {
    let bits = 8 * params.r.elem.bytes() as u32;
    if params.r_signed { (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// The number `high * 2^32 + low`.
#[derive(Clone, Copy, Debug)]
struct Sum {
    high: i128,
    low: i128,
}

impl Sum {
    fn add_product(&mut self, x: i128, y: i128) {
        self.high += x * (y >> 32);
        self.low += x * (y & 0xffff_ffff);
    }

    fn clamp(self, (low, high): (i128, i128)) -> i128 {
        // Far outside of 64 bits, and far inside of 128 when it is shifted.
        let upper = (self.high + (self.low >> 32)).clamp(-1 << 80, 1 << 80);
        ((upper << 32) + (self.low & 0xffff_ffff)).clamp(low, high)
    }
}

/// Multiplies the grid.
///
/// # Safety
/// As for [`super::general::multiply`], with a saturating multiplication of integers.
pub(super) unsafe fn grid(params: &MulAddParams, operands: Operands, scratch: *mut u8) {
    let (n, k) = (params.n as usize, params.k as usize);
    for (i, j) in (0..params.m as usize).flat_map(|i| (0..n).map(move |j| (i, j))) {
        // SAFETY: the tiles are in the grid; the scratch memory holds a tile of B and a row of A, and more.
        unsafe {
            let r = *operands.r.add(i * n + j);
            let mut addend = Addend::of(params, *operands.c.add(i * n + j));
            for kt in 0..k {
                let factors = (*operands.a.add(i * k + kt), *operands.b.add(kt * n + j));
                step(params, factors, addend, r, scratch);
                addend = Addend::sum(params, r);
            }
        }
    }
}

/// A step of one tile.
unsafe fn step(
    params: &MulAddParams,
    (a, b): (*const u8, *const u8),
    addend: Addend<'_>,
    r: *mut u8,
    scratch: *mut u8,
) {
    let (inner, cols) = (params.b.rows as usize, params.b.cols as usize);
    // SAFETY: the parts of the scratch memory follow each other; all are written before they are read. Runs lie in
    // the tiles.
    unsafe {
        let right = scratch.cast::<i64>();
        let left = right.add(inner * cols);
        for row in 0..inner {
            widen(&params.b, params.b_signed, b, row, right.add(row * cols));
        }
        for row in 0..params.rows as usize {
            widen(&params.a, params.a_signed, a, row, left);
            for col in (0..cols).step_by(CHUNK) {
                let mut total = [0_i64; CHUNK];
                let total = &mut total[..CHUNK.min(cols - col)];
                addend.read(row, col, total);
                for (x, total) in total.iter_mut().enumerate() {
                    let mut sum = Sum { high: 0, low: value(*total, addend.signed()) };
                    for l in 0..inner {
                        let y = *right.add(l * cols + col + x);
                        sum.add_product(value(*left.add(l), params.a_signed), value(y, params.b_signed));
                    }
                    *total = sum.clamp(range(params)) as i64;
                }
                narrow_run(At { layout: &params.r, tile: r, row, col }, params.r_signed, total);
            }
        }
    }
}
