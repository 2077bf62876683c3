//! Saturating sums of integers of any types.
//!
//! The sum of a step is exact before it is clamped, and one of products of 64 bits needs more than 128. So factors are
//! cut: those of A into parts of 32 bits and those of B into parts of 16, the last with the sign. A product of parts has
//! 48 bits, and 2^15 of them fit a sum of 64, which the micro-kernel makes; there is one for each power of 2^16:
//!
//! ```text
//! sums[w] = sum over 2 p + q = w of A[p] * B[q]
//! R = clamp(C + sum over w of sums[w] * 2^(16 w))
//! ```
//!
//! Integers of 16 bits are a part each, so that nothing but the clamping is left to do. Tiles are multiplied one by one,
//! because the result of a step is what the next one adds to.

use super::MulAddParams;
use super::general::widen;
use super::panel::{Finish, Operands, RunPanel, drive};
use crate::elem::Use;
use crate::element::run::{At, CHUNK, read_i64, write_i64};
use crate::layout::TileLayout;
use crate::simd::Dot;

/// Bits of the parts of A and of B.
const BITS: (usize, usize) = (32, 16);

/// Most products in a sum: two to an element of the inner dimension.
const MOST: usize = 1 << 14;

/// Most sums: of four parts times two, and one more.
const MOST_SUMS: usize = 7;

/// Numbers of parts and of sums, and the parts of the scratch memory, as byte offsets.
#[derive(Clone, Copy, Debug)]
struct Cut {
    a_parts: usize,
    b_parts: usize,
    /// Sums that products go to.
    weights: usize,
    /// The same, and one behind them for what they carry where there are too many products for a sum.
    count: usize,
    b: usize,
    sums: usize,
    /// Bytes of a tile of sums.
    sum_bytes: usize,
    /// Bytes in all.
    bytes: usize,
}

impl Cut {
    #[inline(always)]
    fn new(params: &MulAddParams) -> Self {
        let parts = |layout: &TileLayout, bits| (8 * layout.elem.bytes()).div_ceil(bits);
        let (a_parts, b_parts) = (parts(&params.a, BITS.0), parts(&params.b, BITS.1));
        let weights = (a_parts - 1) * (BITS.0 / BITS.1) + b_parts;
        let count = weights + usize::from(params.a.cols as usize > MOST);
        let b = a_parts * params.want_a.bytes();
        let sums = b + b_parts * params.want_b.bytes();
        let sum_bytes = (params.rows as usize * params.ldr as usize).next_multiple_of(64);
        Self { a_parts, b_parts, weights, count, b, sums, sum_bytes, bytes: sums + count * sum_bytes }
    }
}

/// Room for the parts of a tile of A and of one of B, and for the sums of one.
pub(crate) fn scratch_bytes(params: &MulAddParams) -> usize {
    Cut::new(params).bytes
}

/// Multiplies the grid; `run` is the micro-kernel of `D`, products of 64-bit integers.
///
/// # Safety
/// The operands are as `params` describes; `scratch` has [`scratch_bytes`].
#[inline(always)]
pub(crate) unsafe fn multiply<D: Dot>(
    params: &MulAddParams,
    operands: Operands,
    scratch: *mut u8,
    run: RunPanel,
) {
    let (n, k) = (params.n as usize, params.k as usize);
    let parts = Cut::new(params);
    // SAFETY: the tiles are in the grid; the parts of the scratch memory follow each other and are written before they
    // are read.
    unsafe {
        let b = scratch.add(parts.b);
        for (j, kt) in (0..n).flat_map(|j| (0..k).map(move |kt| (j, kt))) {
            let tile = *operands.b.add(kt * n + j);
            cut((&params.b, params.b_signed, tile), (BITS.1, parts.b_parts), &params.want_b, b);
            for i in 0..params.m as usize {
                let tile = *operands.a.add(i * k + kt);
                cut((&params.a, params.a_signed, tile), (BITS.0, parts.a_parts), &params.want_a, scratch);
                sum_up::<D>(params, &parts, scratch, run);
                let r = *operands.r.add(i * n + j);
                let addend = if kt == 0 {
                    (&params.c, params.c_signed, *operands.c.add(i * n + j))
                } else {
                    (&params.r, params.r_signed, r.cast_const())
                };
                finish(params, &parts, scratch.add(parts.sums).cast(), addend, r);
            }
        }
    }
}

/// Cuts a tile into so many parts of so many bits, a tile each.
#[inline(always)]
unsafe fn cut(
    (layout, signed, tile): (&TileLayout, bool, *const u8),
    (bits, count): (usize, usize),
    wide: &TileLayout,
    to: *mut u8,
) {
    let cols = layout.cols as usize;
    for row in 0..layout.rows as usize {
        // SAFETY: all tiles have such a row.
        unsafe {
            let to = to.add(row * wide.row_bytes());
            widen(layout, signed, tile, row, to.cast::<i64>());
            // The first part is the number itself until the others have been taken of it.
            for part in (0..count).rev().filter(|_| count > 1) {
                let (shift, is_last) = (part * bits, part + 1 == count);
                let (whole, part) = (to.cast::<i64>(), to.add(part * wide.bytes()).cast::<i64>());
                for col in 0..cols {
                    let x = *whole.add(col);
                    *part.add(col) = match (is_last, signed) {
                        (false, _) => x >> shift & ((1 << bits) - 1),
                        (true, true) => x >> shift,
                        (true, false) => (x as u64 >> shift) as i64,
                    };
                }
            }
        }
    }
}

/// The sums of the products of a tile.
#[inline(always)]
unsafe fn sum_up<D: Dot>(params: &MulAddParams, parts: &Cut, scratch: *mut u8, run: RunPanel) {
    let depth = params.want_a.cols as usize;
    // SAFETY: parts and sums are tiles of the scratch memory.
    unsafe {
        let sums = scratch.add(parts.sums);
        for first in (0..depth).step_by(MOST) {
            for weight in 0..parts.weights {
                let sum = sums.add(weight * parts.sum_bytes);
                let mut factors = ([std::ptr::null(); 2], [std::ptr::null(); 2]);
                let mut count = 0;
                for p in 0..parts.a_parts {
                    let Some(q) = weight.checked_sub(p * (BITS.0 / BITS.1)).filter(|&q| q < parts.b_parts)
                    else {
                        continue;
                    };
                    let a = scratch.add(p * params.want_a.bytes() + first * D::WORD);
                    let b = scratch.add(parts.b + q * params.want_b.bytes() + first * params.ldb as usize);
                    (factors.0[count], factors.1[count]) = (a.cast_const(), b.cast_const());
                    count += 1;
                }
                if count == 0 {
                    // Nothing but what is carried to it.
                    sum.write_bytes(0, if first == 0 { parts.sum_bytes } else { 0 });
                    continue;
                }
                // Of any use, they come from nowhere in memory: nothing is asked for.
                let params = MulAddParams {
                    a: TileLayout { use_: Use::Any, ..params.want_a },
                    b: TileLayout { use_: Use::Any, ..params.want_b },
                    m: 1,
                    n: 1,
                    k: count as u32,
                    words: (depth - first).min(MOST) as u32,
                    ..*params
                };
                let operands = Operands {
                    a: factors.0.as_ptr(),
                    b: factors.1.as_ptr(),
                    c: &sum.cast_const(),
                    r: &sum,
                    compensation: std::ptr::null(),
                    wishes: std::ptr::null_mut(),
                };
                let start = if first == 0 { Finish::WithoutC } else { Finish::Plain };
                drive::<D>(&params, operands, start, 0..count, run);
            }
            if parts.count > parts.weights {
                carry(parts, sums, first == 0);
            }
        }
    }
}

/// Makes room in sums: all but their lowest 16 bits goes to the next, and at last to one behind those of products.
#[cold]
unsafe fn carry(parts: &Cut, sums: *mut u8, is_first: bool) {
    let words = parts.sum_bytes / size_of::<i64>();
    // SAFETY: there is a sum more than there are weights.
    unsafe {
        let sum = |weight: usize| sums.add(weight * parts.sum_bytes).cast::<i64>();
        if is_first {
            sum(parts.weights).write_bytes(0, words);
        }
        for (weight, at) in (0..parts.weights).flat_map(|weight| (0..words).map(move |at| (weight, at))) {
            let (from, to) = (sum(weight).add(at), sum(weight + 1).add(at));
            *to = (*to).wrapping_add(*from >> BITS.1);
            *from &= (1 << BITS.1) - 1;
        }
    }
}

/// Puts sums together, adds the addend and clamps to the range of the result.
#[inline(always)]
unsafe fn finish(
    params: &MulAddParams,
    parts: &Cut,
    sums: *const u8,
    (layout, signed, tile): (&TileLayout, bool, *const u8),
    r: *mut u8,
) {
    let cols = params.r.cols as usize;
    let range = Range { bits: 8 * params.r.elem.bytes() as u32, signed: params.r_signed };
    // Those that are not there stay zero.
    let mut words = [[0; CHUNK]; MOST_SUMS];
    let is_narrow = parts.count <= 2 && layout.elem.bytes() < 8 && range.bits < 64;
    for row in 0..params.rows as usize {
        for col in (0..cols).step_by(CHUNK) {
            let n = (cols - col).min(CHUNK);
            // SAFETY: the run lies in all tiles.
            unsafe {
                for (weight, words) in words.iter_mut().enumerate().take(parts.count) {
                    let row = sums.add(weight * parts.sum_bytes + row * params.ldr as usize);
                    *words = chunk(row.cast::<i64>().add(col), n);
                }
                let mut run = [0; CHUNK];
                read_i64(At { layout, tile, row, col }, signed, n, &mut run);
                if is_narrow {
                    range.clamp_narrow(&words, &mut run);
                } else {
                    range.clamp_wide(&words, &mut run, signed);
                }
                write_i64(At { layout: &params.r, tile: r, row, col }, n, &run);
            }
        }
    }
}

/// The numbers of a type.
#[derive(Clone, Copy, Debug)]
struct Range {
    bits: u32,
    signed: bool,
}

impl Range {
    /// The least and the greatest, but for the greatest of 64 bits without a sign.
    #[inline(always)]
    const fn ends(self) -> (i64, i64) {
        let most = (u64::MAX >> (64 - self.bits)) as i64;
        if self.signed { (i64::MIN >> (64 - self.bits), most >> 1 & i64::MAX) } else { (0, most) }
    }

    /// Two sums and an addend of at most 32 bits, in a range of as many.
    #[inline(always)]
    fn clamp_narrow(self, [low, high, ..]: &[[i64; CHUNK]; MOST_SUMS], run: &mut [i64; CHUNK]) {
        let (least, most) = self.ends();
        for ((to, low), high) in run.iter_mut().zip(low).zip(high) {
            let low = low.wrapping_add(*to);
            // Far outside of the range, if it is outside at all.
            let high = high.wrapping_add(low >> 16).clamp(-1 << 40, 1 << 40);
            *to = (high << 16 | low & 0xffff).max(least).min(most);
        }
    }

    /// Any sums and addends, with a sign or not.
    #[inline(always)]
    fn clamp_wide(self, sums: &[[i64; CHUNK]; MOST_SUMS], run: &mut [i64; CHUNK], signed: bool) {
        let (least, most) = self.ends();
        for (x, to) in run.iter_mut().enumerate() {
            let top = if signed { *to >> 48 } else { (*to as u64 >> 48) as i64 };
            let addends = [*to & 0xffff, *to >> 16 & 0xffff, *to >> 32 & 0xffff, top, 0, 0];
            // Digits of 16 bits, and what they carry.
            let (mut digits, mut carry) = ([0; MOST_SUMS - 1], 0_i64);
            for ((digit, sum), addend) in digits.iter_mut().zip(sums).zip(addends) {
                let total = sum[x].wrapping_add(addend).wrapping_add(carry);
                (*digit, carry) = (total & 0xffff, total >> 16);
            }
            let low = digits[0] | digits[1] << 16 | digits[2] << 32 | digits[3] << 48;
            // Far outside of the range, if it is outside at all.
            let upper = sums[6][x].wrapping_add(carry).clamp(-1 << 30, 1 << 30);
            let high = upper << 32 | digits[5] << 16 | digits[4];
            let unsigned = match high {
                0 => low,
                _ if high < 0 => 0,
                _ => -1,
            };
            let beyond = if high < 0 { i64::MIN } else { i64::MAX };
            let clamped = if high == low >> 63 { low } else { beyond };
            *to = if self.bits == 64 && !self.signed { unsigned } else { clamped.max(least).min(most) };
        }
    }
}

/// So many numbers; the others are zero.
#[inline(always)]
unsafe fn chunk(from: *const i64, n: usize) -> [i64; CHUNK] {
    // SAFETY: the caller vouches for them.
    unsafe {
        if n == CHUNK {
            return from.cast::<[i64; CHUNK]>().read_unaligned();
        }
        let mut numbers = [0; CHUNK];
        numbers.as_mut_ptr().copy_from_nonoverlapping(from, n);
        numbers
    }
}
