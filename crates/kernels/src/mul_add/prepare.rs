//! Bringing bytes into the form that integer dot products want, once per call.
//!
//! The byte dot product multiplies unsigned by signed bytes. Where A and B have the same signedness, the sign bit
//! of every byte of A is flipped, which moves its values by 128 into the other range:
//!
//! ```text
//! both signed:    a * b = (a + 128) * b - 128 * b      (a + 128) unsigned
//! both unsigned:  a * b = (a - 128) * b + 128 * b      (a - 128) signed
//! ```
//!
//! Where the instruction multiplies bytes of the same signedness, as those of Arm do, it is the other way round: bytes of
//! A are moved where B's signedness is another.
//!
//! The second term depends on the column only and joins what the accumulators start with. Its sum over K comes
//! from the same dot product, with ones for A. Padding along K is zero in B, so what it becomes in A is harmless.
//!
//! A saturating multiplication leaves its products in scratch memory, from where they are added to C.
//!
//! Integers of 16 bits become words of 32, the width of their sums: products modulo that need no more.
//!
//! Without the byte dot product, bytes are widened to i16 in place order, for the dot product of pairs of i16.

use super::MulAddParams;
use super::panel::{Operands, b_vector, column, column_count};
use crate::element::convert::relayout;
use crate::layout::TileLayout;
use crate::simd::Dot;

/// The parts of the scratch memory, as byte offsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scratch {
    a_pointers: usize,
    b_pointers: usize,
    a_tiles: usize,
    b_tiles: usize,
    /// One tile in its wanted layout, before widening.
    stage: usize,
    compensation: usize,
    sum_pointers: usize,
    sum_tiles: usize,
    /// Bytes in all.
    pub(crate) bytes: usize,
}

impl Scratch {
    /// Lays out the scratch memory for tiles that grow by `widening`.
    pub(crate) fn new(params: &MulAddParams, widening: usize) -> Self {
        let (a_count, b_count) = ((params.m * params.k) as usize, (params.k * params.n) as usize);
        let columns = params.n as usize * params.vectors.max(1) as usize;
        let sum_count = if params.saturating { (params.m * params.n) as usize } else { 0 };
        let mut end = 0_usize;
        let mut take = |bytes: usize| {
            let start = end;
            end = (end + bytes).next_multiple_of(64);
            start
        };
        Self {
            a_pointers: take(a_count * size_of::<usize>()),
            b_pointers: take(b_count * size_of::<usize>()),
            a_tiles: take(a_count * params.want_a.bytes() * widening),
            b_tiles: take(b_count * params.want_b.bytes() * widening),
            stage: take(params.want_a.bytes().max(params.want_b.bytes())),
            compensation: take(columns * 64),
            sum_pointers: take(sum_count * size_of::<usize>()),
            sum_tiles: take(sum_count * params.r.bytes()),
            bytes: end,
        }
    }
}

/// Prepares quads of bytes, flipping the sign bits of A or not.
///
/// # Safety
/// The operands are as `params` describes, `scratch` is as large as its [`Scratch`] says.
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    expect(dead_code, reason = "no kernel has byte dot products")
)]
#[inline(always)]
pub(crate) unsafe fn bytes<D: Dot>(
    params: &MulAddParams,
    mut operands: Operands,
    scratch: *mut u8,
    flip: bool,
) -> Operands {
    let parts = Scratch::new(params, 1);
    // SAFETY: the parts of the scratch memory are disjoint and sized for what is written there.
    unsafe {
        if flip || params.a != params.want_a {
            let pointers = scratch.add(parts.a_pointers).cast::<*const u8>();
            let size = params.want_a.bytes();
            for t in 0..(params.m * params.k) as usize {
                let tile = scratch.add(parts.a_tiles + t * size);
                let mut src = *operands.a.add(t);
                if params.a != params.want_a {
                    relayout(&params.a, &params.want_a, tile, src);
                    src = tile;
                }
                let mask = if flip { 0x80 } else { 0 };
                for at in 0..size {
                    *tile.add(at) = *src.add(at) ^ mask;
                }
                *pointers.add(t) = tile;
            }
            operands.a = pointers;
        }
        if params.b != params.want_b {
            let pointers = scratch.add(parts.b_pointers).cast::<*const u8>();
            for t in 0..(params.k * params.n) as usize {
                let tile = scratch.add(parts.b_tiles + t * params.want_b.bytes());
                relayout(&params.b, &params.want_b, tile, *operands.b.add(t));
                *pointers.add(t) = tile;
            }
            operands.b = pointers;
        }
        if flip {
            operands.compensation = compensation::<D>(params, operands.b, scratch.add(parts.compensation));
        }
        operands
    }
}

/// 128 times the sum of each column of B, negative where that is what A has more.
#[inline(always)]
unsafe fn compensation<D: Dot>(params: &MulAddParams, b: *const *const u8, out: *mut u8) -> *const u8 {
    /// Sums that are added up side by side, so that none waits for the one before.
    const SIDE: usize = 4;
    let count = column_count::<D>(params);
    // SAFETY: `out` has one vector per vector of columns; the rest as for the micro-kernel.
    unsafe {
        let mut first = 0;
        while first + SIDE <= count {
            column_sums::<D, SIDE>(params, b, first, out);
            first += SIDE;
        }
        while first < count {
            column_sums::<D, 1>(params, b, first, out);
            first += 1;
        }
        out
    }
}

/// The same for `N` vectors of columns.
#[inline(always)]
unsafe fn column_sums<D: Dot, const N: usize>(
    params: &MulAddParams,
    b: *const *const u8,
    first: usize,
    out: *mut u8,
) {
    let ones = 0x0101_0101_u32;
    let factor = if params.b_signed == D::ALIKE { 128 } else { -128 };
    // SAFETY: forwarded.
    unsafe {
        let ones = D::splat((&raw const ones).cast());
        let mut sums = [D::zero(); N];
        for kt in 0..params.k as usize {
            let vectors: [_; N] =
                std::array::from_fn(|x| b_vector(params, b, column::<D>(params, first + x), kt));
            for word in 0..params.words as usize {
                let at = word * params.ldb as usize;
                for (sum, (lo, hi)) in sums.iter_mut().zip(vectors) {
                    *sum = D::dot(*sum, ones, D::load_b(lo.add(at), hi.add(at)));
                }
            }
        }
        for (x, sum) in sums.into_iter().enumerate() {
            let to = out.add((first + x) * D::LANES * 4);
            D::store_acc(to, to.add(D::LANES * 2), sum);
            let lanes = to.cast::<i32>();
            for lane in 0..D::LANES {
                *lanes.add(lane) *= factor;
            }
        }
    }
}

/// Widens integers of 16 bits to 32.
///
/// # Safety
/// As for [`bytes`].
#[inline(always)]
pub(crate) unsafe fn words(params: &MulAddParams, mut operands: Operands, scratch: *mut u8) -> Operands {
    if params.a == params.want_a {
        return operands;
    }
    let parts = Scratch::new(params, 1);
    let widen = |from: &TileLayout, to: &TileLayout, signed: bool, dst: *mut u8, src: *const u8| {
        for row in 0..from.rows as usize {
            // SAFETY: both tiles have such a row, of elements side by side.
            unsafe {
                let (src, dst) = (src.add(from.offset(row, 0)), dst.add(to.offset(row, 0)).cast::<i32>());
                for col in 0..from.cols as usize {
                    let bits = src.cast::<i16>().add(col).read_unaligned();
                    *dst.add(col) = if signed { bits.into() } else { (bits as u16).into() };
                }
            }
        }
    };
    // SAFETY: the parts of the scratch memory are disjoint and sized for what is written there.
    unsafe {
        let a_pointers = scratch.add(parts.a_pointers).cast::<*const u8>();
        for t in 0..(params.m * params.k) as usize {
            let to = scratch.add(parts.a_tiles + t * params.want_a.bytes());
            widen(&params.a, &params.want_a, params.a_signed, to, *operands.a.add(t));
            *a_pointers.add(t) = to;
        }
        let b_pointers = scratch.add(parts.b_pointers).cast::<*const u8>();
        for t in 0..(params.k * params.n) as usize {
            let to = scratch.add(parts.b_tiles + t * params.want_b.bytes());
            widen(&params.b, &params.want_b, params.b_signed, to, *operands.b.add(t));
            *b_pointers.add(t) = to;
        }
        operands.a = a_pointers;
        operands.b = b_pointers;
        operands
    }
}

/// Widens bytes to i16.
///
/// # Safety
/// As for [`bytes`].
#[inline(always)]
pub(crate) unsafe fn pairs(params: &MulAddParams, mut operands: Operands, scratch: *mut u8) -> Operands {
    let parts = Scratch::new(params, 2);
    // SAFETY: the parts of the scratch memory are disjoint and sized for what is written there.
    unsafe {
        let stage = scratch.add(parts.stage);
        let a_pointers = scratch.add(parts.a_pointers).cast::<*const u8>();
        for t in 0..(params.m * params.k) as usize {
            let to = scratch.add(parts.a_tiles + t * 2 * params.want_a.bytes());
            widen(&params.a, &params.want_a, params.a_signed, to, *operands.a.add(t), stage);
            *a_pointers.add(t) = to;
        }
        let b_pointers = scratch.add(parts.b_pointers).cast::<*const u8>();
        for t in 0..(params.k * params.n) as usize {
            let to = scratch.add(parts.b_tiles + t * 2 * params.want_b.bytes());
            widen(&params.b, &params.want_b, params.b_signed, to, *operands.b.add(t), stage);
            *b_pointers.add(t) = to;
        }
        operands.a = a_pointers;
        operands.b = b_pointers;
        operands
    }
}

/// Brings one tile into its wanted layout and widens its bytes.
#[inline(always)]
unsafe fn widen(
    layout: &TileLayout,
    want: &TileLayout,
    signed: bool,
    to: *mut u8,
    mut src: *const u8,
    stage: *mut u8,
) {
    // SAFETY: the caller vouches for tiles of these layouts, `to` being twice as large.
    unsafe {
        if layout != want {
            relayout(layout, want, stage, src);
            src = stage;
        }
        let to = to.cast::<i16>();
        if signed {
            for at in 0..want.bytes() {
                *to.add(at) = i16::from(*src.add(at).cast::<i8>());
            }
        } else {
            for at in 0..want.bytes() {
                *to.add(at) = i16::from(*src.add(at));
            }
        }
    }
}

/// Lets the products of a saturating multiplication go to scratch memory.
///
/// # Safety
/// As for [`bytes`]; `widening` is that of the family.
#[inline(always)]
pub(crate) unsafe fn divert_results(
    params: &MulAddParams,
    mut operands: Operands,
    scratch: *mut u8,
    widening: usize,
) -> Operands {
    let parts = Scratch::new(params, widening);
    // SAFETY: the parts of the scratch memory are disjoint and sized for what is written there.
    unsafe {
        let pointers = scratch.add(parts.sum_pointers).cast::<*mut u8>();
        for t in 0..(params.m * params.n) as usize {
            *pointers.add(t) = scratch.add(parts.sum_tiles + t * params.r.bytes());
        }
        operands.r = pointers;
    }
    operands
}

/// Adds C to the diverted products, saturating to the range of the result.
///
/// # Safety
/// `sums` are the products that [`divert_results`] made room for; `operands` are those of the caller.
#[inline(never)]
pub(crate) unsafe fn add_saturating(params: &MulAddParams, operands: Operands, sums: *const *mut u8) {
    let (low, high) =
        if params.r_signed { (i64::from(i32::MIN), i64::from(i32::MAX)) } else { (0, i64::from(u32::MAX)) };
    for t in 0..(params.m * params.n) as usize {
        // SAFETY: all three tiles are i32 rows of the same padded length.
        unsafe {
            let (sum, c) = ((*sums.add(t)).cast::<i32>(), (*operands.c.add(t)).cast::<i32>());
            let r = (*operands.r.add(t)).cast::<i32>();
            for at in 0..params.r.bytes() / 4 {
                let c = *c.add(at);
                let c = if params.c_signed { i64::from(c) } else { i64::from(c as u32) };
                *r.add(at) = (i64::from(*sum.add(at)) + c).clamp(low, high) as i32;
            }
        }
    }
}
