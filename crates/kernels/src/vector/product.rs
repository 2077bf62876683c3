//! The product of words: `R[i][j] = start[i] + extra[j] + sum over k of A[i][k] * X[k][j]`.
//!
//! Like the micro-kernel of multiplications of tiles, but for where operands come from. The words of A may lie anyhow, so
//! that a matrix and its transpose are read where they are; sums go to memory as words or rounded to f16.

use super::VecMatMulParams;
use super::places::Columns;
use crate::mul_add::panel::{Apart, block_count, multiply_add, step};
use crate::simd::{Dot, MAX_LANES, Simd};

/// Most vectors of columns in a block.
const GROUP: usize = 2;

/// The operands of a product.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    /// The first word of A.
    pub(super) a: *const u8,
    /// Bytes from a word of A to the next of its row, and to the next of its column.
    pub(super) along_row: usize,
    pub(super) along_column: usize,
    /// Rows of A.
    pub(super) rows: usize,
    /// Words of a row.
    pub(super) words: usize,
    /// Rows of whole vectors.
    pub(super) x: *const u8,
    /// Bytes from a row of X to the next.
    pub(super) x_pitch: usize,
    /// Vectors of columns.
    pub(super) vectors: usize,
    /// What the sums of each row start with, or null.
    pub(super) start: *const u8,
    /// What the sums of each column start with beside that, or null; of integers only.
    pub(super) extra: *const u8,
    /// Rows of whole vectors.
    pub(super) result: *mut u8,
    /// Bytes from a row of the result to the next.
    pub(super) result_pitch: usize,
    /// Whether results are rounded to f16; of floats only.
    pub(super) halves: bool,
}

/// Blocks of rows, one below the other, in some vectors of columns.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    row: usize,
    blocks: usize,
    vector: usize,
}

/// The micro-kernel, compiled for one instruction set.
#[derive(Clone, Copy)]
pub(crate) struct MicroKernel {
    /// Does blocks of so many rows and vectors.
    pub(crate) run: unsafe fn(&Product, Span, rows: usize, vectors: usize),
    /// Most rows of a block, by the number of its vectors. It is compiled for these and for all powers of two below.
    pub(crate) rows: [usize; GROUP],
    /// [`gather`](super::input::gather) and [`scatter`](super::result::scatter): not a part of the whole, where most
    /// products do without them.
    pub(crate) gather: unsafe fn(&Columns, rows: usize, pitch: usize, to: *mut u8, from: *const u8),
    pub(crate) scatter:
        unsafe fn(&VecMatMulParams, &Columns, rows: usize, pitch: usize, to: *mut u8, words: *const u8),
}

/// Does a product.
///
/// # Safety
/// The operands are as the product says; the processor has the micro-kernel's instructions.
#[inline(always)]
pub(super) unsafe fn multiply(product: &Product, kernel: MicroKernel) {
    let mut vector = 0;
    while vector < product.vectors {
        let vectors = (product.vectors - vector).min(GROUP);
        let mut rows = kernel.rows[vectors - 1];
        let mut row = 0;
        while row < product.rows {
            let blocks = block_count(product.rows - row, rows);
            if blocks > 0 {
                // SAFETY: the span is inside the product.
                unsafe { (kernel.run)(product, Span { row, blocks, vector }, rows, vectors) };
            }
            row += blocks * rows;
            rows = (rows / 2).next_power_of_two();
        }
        vector += vectors;
    }
}

/// Does blocks of `MR` rows and `NV` vectors.
///
/// # Safety
/// As for [`multiply`]; the span is inside the product.
#[inline(always)]
pub(crate) unsafe fn blocks<S: Simd, D: Dot, const MR: usize, const NV: usize>(p: &Product, span: Span) {
    // SAFETY: forwarded.
    unsafe {
        if p.halves && D::SINGLE {
            rows::<S, D, MR, NV, true>(p, span);
        } else {
            rows::<S, D, MR, NV, false>(p, span);
        }
    }
}

#[inline(always)]
unsafe fn rows<S: Simd, D: Dot, const MR: usize, const NV: usize, const HALVES: bool>(
    p: &Product,
    span: Span,
) {
    let from = span.vector * D::LANES * 4;
    for block in 0..span.blocks {
        let row = span.row + block * MR;
        // SAFETY: the rows and vectors of the span are in the operands.
        unsafe {
            let mut acc = start::<D, MR, NV>(p, row, from);
            let mut a = p.a.wrapping_add(row * p.along_column);
            let mut x = p.x.add(from);
            let x_of = |x: *const u8| std::array::from_fn(|v| x.wrapping_add(v * D::LANES * 4));
            if D::SPARES_INSTRUCTIONS {
                let apart = Apart { row: p.along_column, word: p.along_row, vector: p.x_pitch };
                multiply_add::<D, MR, NV>(&mut acc, a, (x_of(x), x_of(x)), &apart, p.words);
            } else if NV == 1 {
                let mut bases = bases(a, p.along_column);
                for _ in 0..p.words {
                    let b = D::load_b(x, x);
                    for (y, acc) in acc.iter_mut().enumerate() {
                        let word = D::splat(bases[y / 3].wrapping_add(y % 3 * p.along_column));
                        acc[0] = D::dot(acc[0], word, b);
                    }
                    bases = bases.map(|a| a.wrapping_add(p.along_row));
                    x = x.wrapping_add(p.x_pitch);
                }
            } else {
                for _ in 0..p.words {
                    step::<D, MR, NV>(
                        &mut acc,
                        |y| a.wrapping_add(y * p.along_column),
                        (x_of(x), x_of(x)),
                        0,
                    );
                    a = a.wrapping_add(p.along_row);
                    x = x.wrapping_add(p.x_pitch);
                }
            }
            for (y, acc) in acc.into_iter().enumerate() {
                let line = p.result.add((row + y) * p.result_pitch);
                for (v, acc) in acc.into_iter().enumerate() {
                    if HALVES {
                        let words = S::load(std::ptr::from_ref(&acc).cast(), S::LANES * 4);
                        S::narrow_f16(line.add(from / 2 + v * D::LANES * 2), words);
                    } else {
                        let to = line.add(from + v * D::LANES * 4);
                        D::store_acc(to, to, acc);
                    }
                }
            }
        }
    }
}

/// Pointers to every third row of a block, whose neighbours an address reaches with the distance of rows as its index.
/// They look unrelated to the compiler, which would make one chain of additions of all addresses.
#[inline(always)]
fn bases(first: *const u8, distance: usize) -> [*const u8; 3] {
    [0, 3, 6].map(|y| first.wrapping_add(std::hint::black_box(y * distance)))
}

/// What the sums start with.
#[inline(always)]
unsafe fn start<D: Dot, const MR: usize, const NV: usize>(
    p: &Product,
    row: usize,
    from: usize,
) -> [[D::Acc; NV]; MR] {
    // SAFETY: as for `rows`.
    unsafe {
        let mut acc = [[D::zero(); NV]; MR];
        if !p.start.is_null() {
            for (y, acc) in acc.iter_mut().enumerate() {
                let words = [p.start.add((row + y) * 4).cast::<u32>().read_unaligned(); MAX_LANES];
                *acc = [D::load_acc(words.as_ptr().cast(), words.as_ptr().cast()); NV];
            }
        }
        if !D::SINGLE && !p.extra.is_null() {
            for v in 0..NV {
                let extra = p.extra.add(from + v * D::LANES * 4);
                let extra = D::load_acc(extra, extra);
                for acc in &mut acc {
                    acc[v] = D::add(acc[v], extra);
                }
            }
        }
        acc
    }
}
