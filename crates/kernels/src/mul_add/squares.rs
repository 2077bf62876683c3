//! The micro-kernel of bytes by products of squares.
//!
//! The instruction multiplies two rows of eight bytes by two columns of eight and adds to two rows of two sums, twice the
//! work of a dot product. Tiles lie as for those, B as quads of rows: of two vectors of words of B, zipped, each half has
//! two columns, eight deep. Sums of two rows and four columns are two vectors, which are put together from the rows and
//! taken apart again once in a call. The last of an odd number of rows is its own neighbour.

use super::panel::{Finish, Panel, b_vector};
use crate::arch::aarch64::neon::{
    Squares, Words, add, halves, load, store, two_rows, two_words, zero, zipped,
};

/// The sums of pairs of rows, in vectors of columns: of two rows the first two columns, and the last.
type Sums<const PAIRS: usize, const NV: usize> = [[[Words; 2]; NV]; PAIRS];

/// All blocks of a panel, of so many rows in so many pairs.
///
/// # Safety
/// As for [`super::panel::panel`]; the processor has the instructions.
#[inline(always)]
pub(crate) unsafe fn panel<S: Squares, const PAIRS: usize, const NV: usize>(panel: &Panel<'_>, rows: usize) {
    let params = panel.params;
    let (lda, ldb) = (params.lda as usize, params.ldb as usize);
    let (words, depth) = (params.words as usize, params.k as usize);
    let asks = panel.ahead.is_wanted();
    // From a row to its neighbour.
    let next = |pitch: usize| if rows == 1 { 0 } else { pitch };
    for i in 0..params.m as usize {
        for block in 0..panel.blocks {
            let row = panel.row + block * rows;
            let mut turn = if asks { panel.ahead.turn() } else { None };
            // SAFETY: the blocks of a panel lie inside the tiles, by contract; so do all words and vectors of
            // their rows, which the layouts pad to whole ones.
            unsafe {
                let mut sums = start::<PAIRS, NV>(panel, i, row, next(params.ldc as usize));
                for kt in panel.steps.clone() {
                    if let Some(turn) = &mut turn {
                        turn.ask();
                    }
                    if asks {
                        panel.ahead.ask_for_wishes();
                    }
                    let a = (*panel.operands.a.add(i * depth + kt)).add(row * lda);
                    let mut b = [std::ptr::null(); NV];
                    for (b, &column) in b.iter_mut().zip(&panel.columns) {
                        *b = b_vector(params, panel.operands.b, column, kt).0;
                    }
                    for word in (0..words).step_by(2) {
                        let is_last = word + 1 == words;
                        let mut columns = [[load(b[0].add(word * ldb)); 2]; NV];
                        for (columns, b) in columns.iter_mut().zip(b) {
                            let low = load(b.add(word * ldb));
                            // What A has there is zero.
                            let high = if is_last { low } else { load(b.add((word + 1) * ldb)) };
                            *columns = zipped(low, high);
                        }
                        for (pair, sums) in sums.iter_mut().enumerate() {
                            let first = a.add(pair * 2 * lda + word * 4);
                            let second = first.add(next(lda));
                            let a = if is_last { two_words(first, second) } else { two_rows(first, second) };
                            for (sums, columns) in sums.iter_mut().zip(columns) {
                                *sums = [S::add(sums[0], a, columns[0]), S::add(sums[1], a, columns[1])];
                            }
                        }
                    }
                }
                let tiles = panel.operands.r.add(i * params.n as usize);
                let ldr = params.ldr as usize;
                for (pair, sums) in sums.iter().enumerate() {
                    for (column, &[left, right]) in panel.columns.iter().zip(sums) {
                        let first = (*tiles.add(column.lo)).add(column.offset + (row + 2 * pair) * ldr);
                        let [upper, lower] = halves(left, right);
                        store(first, upper);
                        store(first.add(next(ldr)), lower);
                    }
                }
            }
        }
    }
}

/// What the sums start with.
#[inline(always)]
unsafe fn start<const PAIRS: usize, const NV: usize>(
    panel: &Panel<'_>,
    i: usize,
    row: usize,
    next: usize,
) -> Sums<PAIRS, NV> {
    let ldc = panel.params.ldc as usize;
    // SAFETY: as for `panel`.
    unsafe {
        let mut sums = [[[zero(); 2]; NV]; PAIRS];
        if panel.finish != Finish::WithoutC {
            let tiles = panel.operands.c.add(i * panel.params.n as usize);
            for (pair, sums) in sums.iter_mut().enumerate() {
                for (column, sums) in panel.columns.iter().zip(sums) {
                    let first = (*tiles.add(column.lo)).add(column.offset + (row + 2 * pair) * ldc);
                    *sums = halves(load(first), load(first.add(next)));
                }
            }
        }
        if !panel.operands.compensation.is_null() {
            for sums in &mut sums {
                for (x, sums) in sums.iter_mut().enumerate() {
                    let extra = load(panel.operands.compensation.add(x * 16));
                    let [left, right] = halves(extra, extra);
                    *sums = [add(sums[0], left), add(sums[1], right)];
                }
            }
        }
        sums
    }
}
