//! The product of a matrix and a vector for each lane.

use super::matrix::{self, Matrix};
use super::places::{Columns, Group, Places, all};
use super::product::{MicroKernel, Product, multiply};
use super::{Cut, VecMatMulParams, input};
use crate::elem::Elem;
use crate::simd::{Dot, Simd};

/// Words of a block of rows of a matrix: as many as the first cache holds beside the vectors.
const BLOCK_WORDS: usize = 4096;
/// Rows of a block are a multiple of this, so that all blocks of the micro-kernel are whole.
const BLOCK_STEP: usize = 24;

/// The parts of the scratch memory, as byte offsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Rows of a block of the matrix.
    rows: usize,
    /// The vectors as words, all lanes and those of a group.
    words: usize,
    gathered: usize,
    /// The vectors as bytes.
    bytes_of: usize,
    bias: usize,
    /// What the sums of a column start with.
    extra: usize,
    /// A block of the matrix as words, and as it is in memory.
    block: usize,
    stage: usize,
    /// A block of the result.
    result: usize,
    /// Bytes in all.
    pub(crate) bytes: usize,
}

impl Parts {
    /// Lays out the scratch memory for vectors of `width` words and so many numbers in a word.
    #[inline(always)]
    pub(crate) fn new(p: &VecMatMulParams, width: usize, per_word: usize) -> Self {
        let (m, k, lanes) = (p.m as usize, p.k as usize, p.lanes as usize);
        let words = k.div_ceil(per_word);
        let rows = (BLOCK_WORDS / words / BLOCK_STEP * BLOCK_STEP).max(BLOCK_STEP).min(m);
        let row_bytes = input::pitch(lanes, width) * 4;
        let mut cut = Cut::default();
        Self {
            rows,
            words: cut.take(words * row_bytes),
            gathered: cut.take(words * row_bytes),
            bytes_of: cut.take(if per_word == 1 { 0 } else { k.next_multiple_of(4) * lanes }),
            bias: cut.take(m.next_multiple_of(width) * 4),
            extra: cut.take(row_bytes),
            block: cut.take(matrix::block_bytes(p, rows, per_word)),
            stage: cut.take(matrix::stage_bytes(p, rows).max(m * 4)),
            result: cut.take(rows * row_bytes),
            bytes: cut.end,
        }
    }
}

/// What the groups of an operation share.
struct Call<'a> {
    params: &'a VecMatMulParams,
    parts: Parts,
    kernel: MicroKernel,
    result: *mut u8,
    scratch: *mut u8,
    /// The vectors of all lanes.
    words: *const u8,
}

/// Multiplies the vectors of all active lanes.
///
/// # Safety
/// The contract of [`VecMatMulFn`](crate::VecMatMulFn); the processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn mat_mul<S: Simd, D: Dot, const PER_WORD: usize>(
    params: &VecMatMulParams,
    (result, input): (*mut u8, *const u8),
    places: *const u64,
    scratch: *mut u8,
    kernel: MicroKernel,
) {
    let parts = Parts::new(params, S::LANES, PER_WORD);
    // SAFETY: the parts of the scratch memory are disjoint and sized for what is written there.
    unsafe {
        let to = scratch.add(parts.words);
        let is_ready = params.input == Elem::F32 && params.interpretation == Elem::F32;
        let mut words = to.cast_const();
        if PER_WORD > 1 {
            input::integers::<S, PER_WORD>(params, to, input, scratch.add(parts.bytes_of));
        } else if is_ready && input != result && params.lanes as usize >= S::LANES {
            words = input;
        } else {
            input::floats::<S>(params, to, input);
        }
        let call = Call { params, parts, kernel, result, scratch, words };
        for group in Places::new(places, params.lanes, params.varying).groups() {
            call.group::<S, D, PER_WORD>(&group);
        }
    }
}

impl Call<'_> {
    #[inline(always)]
    unsafe fn group<S: Simd, D: Dot, const PER_WORD: usize>(&self, group: &Group) {
        let Self { params: p, parts, scratch, .. } = *self;
        let (lanes, pitch) = (p.lanes as usize, input::pitch(p.lanes as usize, S::LANES));
        let depth = (p.k as usize).div_ceil(PER_WORD);
        // SAFETY: as for `mat_mul`.
        unsafe {
            let is_whole = group.mask == all(lanes) && lanes >= S::LANES;
            let columns = (!is_whole).then(|| Columns::new(group.mask, lanes, S::LANES));
            let (mut x, mut width) = (self.words, lanes);
            if let Some(columns) = columns.as_ref().filter(|c| !c.in_place) {
                let to = scratch.add(parts.gathered);
                (self.kernel.gather)(columns, depth, pitch, to, x);
                (x, width) = (to, columns.columns(lanes));
            }
            if p.has_bias {
                matrix::bias::<S>(p, group.bias(), scratch.add(parts.bias), scratch.add(parts.stage));
            }
            let flips = PER_WORD == 4 && (p.matrix_signed == p.interpretation_signed) != D::ALIKE;
            let mut product = Product {
                a: std::ptr::null(),
                along_row: 0,
                along_column: 0,
                rows: 0,
                words: depth,
                x,
                x_pitch: pitch * 4,
                vectors: width.div_ceil(S::LANES),
                start: std::ptr::null(),
                extra: std::ptr::null(),
                result: scratch.add(parts.result),
                result_pitch: pitch * 4,
                halves: columns.is_none() && p.result == Elem::F16,
            };
            if flips {
                let to = scratch.add(parts.extra);
                compensate::<D>(&product, p.interpretation_signed, to);
                product.extra = to;
            }
            let matrix = Matrix::new(p, group.matrix(), group.stride());
            let space = (scratch.add(parts.block), scratch.add(parts.stage));
            let line = lanes * p.result.bytes();
            let mut row = 0;
            while row < p.m as usize {
                product.rows = (p.m as usize - row).min(parts.rows);
                let words = matrix.words::<S, PER_WORD>((row, product.rows), flips, space);
                product.a = words.first;
                (product.along_row, product.along_column) = (words.along_row, words.along_column);
                if p.has_bias {
                    product.start = scratch.add(parts.bias + row * 4);
                }
                let to = self.result.add(row * line);
                if columns.is_none() {
                    (product.result, product.result_pitch) = (to, line);
                }
                multiply(&product, self.kernel);
                if let Some(columns) = &columns {
                    (self.kernel.scatter)(p, columns, product.rows, pitch, to, product.result);
                }
                row += product.rows;
            }
        }
    }
}

/// What sums of bytes start with where the sign bits of the matrix are flipped, which moves its elements by 128:
/// 128 times the sum of a vector, negative where that is what the matrix has more. See `mul_add::prepare`.
#[inline(always)]
unsafe fn compensate<D: Dot>(product: &Product, signed: bool, to: *mut u8) {
    let ones = 0x0101_0101_u32;
    let factor = if signed == D::ALIKE { 128 } else { -128 };
    // SAFETY: there is a word for each column.
    unsafe {
        let ones = D::splat((&raw const ones).cast());
        for vector in 0..product.vectors {
            let at = vector * D::LANES * 4;
            let mut sum = D::zero();
            for row in 0..product.words {
                let from = product.x.add(row * product.x_pitch + at);
                sum = D::dot(sum, ones, D::load_b(from, from));
            }
            let to = to.add(at);
            D::store_acc(to, to, sum);
            for lane in 0..D::LANES {
                let sum = to.cast::<i32>().add(lane);
                *sum = (*sum).wrapping_mul(factor);
            }
        }
    }
}
