//! The micro-kernel and the walk over the grid.
//!
//! ```text
//! for each group of up to 4 vectors of columns, which may come from different tiles:
//!     for each row of tiles, for each block of `MR` rows in it:              (one "panel")
//!         acc[MR][NV] = C
//!         for each k tile:                                                   (one "step")
//!             for each word of K:
//!                 b[NV] = B row;  for each row: acc[row] += broadcast(A word) * b
//!             round acc
//!         R = acc
//! ```
//!
//! The accumulators stay in registers over the whole inner dimension, across tiles; each vector of B serves `MR`
//! rows and each word of A `NV` vectors. One call runs all rows of a group, so that the processor overlaps the
//! end of one block with the start of the next.

use super::MulAddParams;
use super::ahead::Ahead;
use super::wishes::Wishes;
use crate::simd::{Bf16, Dot, Exact, F16};
use std::ops::Range;

/// Most vectors of columns in a block.
pub(super) const MAX_VECTORS: usize = 4;

/// What is done to accumulators at the end of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// Nothing.
    Plain,
    /// Round to f16.
    F16,
    /// Round to bf16.
    Bf16,
    /// Nothing, and C is left out: it is added afterwards, with saturation.
    WithoutC,
}

/// A rounding of f32 accumulators.
trait Sums: Copy {
    /// Whether it does anything.
    const ROUND: bool;
    /// Rounds.
    ///
    /// # Safety
    /// As for [`Dot`].
    unsafe fn round<D: Dot>(v: D::Acc) -> D::Acc;
}

impl Sums for Exact {
    const ROUND: bool = false;
    #[inline(always)]
    unsafe fn round<D: Dot>(v: D::Acc) -> D::Acc {
        v
    }
}

impl Sums for F16 {
    const ROUND: bool = true;
    #[inline(always)]
    unsafe fn round<D: Dot>(v: D::Acc) -> D::Acc {
        // SAFETY: forwarded.
        unsafe { D::round_f16(v) }
    }
}

impl Sums for Bf16 {
    const ROUND: bool = true;
    #[inline(always)]
    unsafe fn round<D: Dot>(v: D::Acc) -> D::Acc {
        // SAFETY: forwarded.
        unsafe { D::round_bf16(v) }
    }
}

/// A vector of columns: where it lies in the tiles of a grid row.
#[derive(Clone, Copy, Default)]
pub(crate) struct Column {
    /// Tile of the (first half of the) vector.
    pub(super) lo: usize,
    /// Tile of the second half.
    hi: usize,
    /// Byte offset in a row.
    pub(super) offset: usize,
}

/// The operands of a call, ready for the micro-kernel.
#[derive(Clone, Copy)]
pub(crate) struct Operands {
    pub(crate) a: *const *const u8,
    pub(crate) b: *const *const u8,
    pub(crate) c: *const *const u8,
    pub(crate) r: *const *mut u8,
    /// For each vector of columns, what the accumulators start with beside C; or null.
    pub(crate) compensation: *const u8,
    /// What will be read soon, or null.
    pub(crate) wishes: *mut Wishes,
}

/// One group of columns times all blocks of `MR` rows.
pub(crate) struct Panel<'a> {
    pub(super) params: &'a MulAddParams,
    pub(super) operands: Operands,
    pub(super) ahead: &'a Ahead,
    pub(super) columns: [Column; MAX_VECTORS],
    pub(super) finish: Finish,
    /// The steps to do.
    pub(super) steps: Range<usize>,
    /// First row, in every tile.
    pub(super) row: usize,
    /// Blocks of rows, in every tile.
    pub(super) blocks: usize,
}

impl Panel<'_> {
    /// Whether the accumulators start with something else than C.
    #[inline(always)]
    fn is_compensated<D: Dot>(&self) -> bool {
        !D::SINGLE && !self.operands.compensation.is_null()
    }
}

/// Runs a panel with blocks of this many rows and vectors; compiled for one instruction set.
pub(crate) type RunPanel = unsafe fn(&Panel<'_>, rows: usize, vectors: usize);

/// Where the vectors of columns lie.
#[inline(always)]
pub(super) fn column<D: Dot>(params: &MulAddParams, index: usize) -> Column {
    if D::HALVES {
        let (lo, last) = (2 * index, params.n as usize - 1);
        // Without a second tile the first one is computed twice, with equal results.
        Column { lo, hi: if lo < last { lo + 1 } else { lo }, offset: 0 }
    } else {
        let per_tile = params.vectors as usize;
        let tile = index / per_tile;
        Column { lo: tile, hi: tile, offset: index % per_tile * D::LANES * D::WORD }
    }
}

/// The number of vectors of columns in the grid.
#[inline(always)]
pub(super) fn column_count<D: Dot>(params: &MulAddParams) -> usize {
    if D::HALVES { (params.n as usize).div_ceil(2) } else { params.n as usize * params.vectors as usize }
}

/// Addresses of both halves of a vector of B in k tile `kt`.
///
/// # Safety
/// `b` is the grid of B of `params`.
#[inline(always)]
pub(super) unsafe fn b_vector(
    params: &MulAddParams,
    b: *const *const u8,
    column: Column,
    kt: usize,
) -> (*const u8, *const u8) {
    // SAFETY: the column's tiles are in the grid.
    unsafe {
        let row = b.add(kt * params.n as usize);
        ((*row.add(column.lo)).add(column.offset), (*row.add(column.hi)).add(column.offset))
    }
}

/// Does some steps of the whole grid.
///
/// # Safety
/// The operands are as `params` describes; `run` is compiled for instructions that the processor has.
#[inline(always)]
pub(crate) unsafe fn drive<D: Dot>(
    params: &MulAddParams,
    operands: Operands,
    finish: Finish,
    steps: Range<usize>,
    run: RunPanel,
) {
    let total = column_count::<D>(params);
    let rows = params.rows as usize;
    // SAFETY: forwarded.
    let ahead = unsafe { Ahead::new(params, &operands, total) };
    let mut first = 0;
    while first < total {
        let vectors = (total - first).min(usize::from(params.group));
        let mut panel = Panel {
            params,
            operands,
            ahead: &ahead,
            columns: [Column::default(); MAX_VECTORS],
            finish,
            steps: steps.clone(),
            row: 0,
            blocks: 0,
        };
        for (x, slot) in panel.columns.iter_mut().enumerate().take(vectors) {
            *slot = column::<D>(params, first + x);
        }
        if !operands.compensation.is_null() {
            // SAFETY: there is one vector of compensation per vector of columns.
            panel.operands.compensation = unsafe { operands.compensation.add(first * D::LANES * 4) };
        }
        let mut block_rows = usize::from(params.block_rows[vectors - 1]);
        while panel.row < rows {
            panel.blocks = block_count(rows - panel.row, block_rows);
            if panel.blocks > 0 {
                // SAFETY: the panel stays within the operands.
                unsafe { run(&panel, block_rows, vectors) };
            }
            panel.row += panel.blocks * block_rows;
            block_rows = if block_rows > 8 { 8 } else { block_rows.div_ceil(2).next_power_of_two() };
        }
        first += vectors;
    }
}

/// How many blocks of so many rows come before smaller ones. Two rows of two vectors take as long as four, because sums wait
/// for each other; so behind blocks of six there are two blocks of four instead of one of six and one of two, and behind
/// blocks of three two of two instead of one of three and one row.
#[inline(always)]
pub(crate) fn block_count(rows: usize, block_rows: usize) -> usize {
    let blocks = rows / block_rows;
    let is_short = matches!((block_rows, rows % block_rows), (6, 2) | (3, 1));
    if is_short && blocks > 0 { blocks - 1 } else { blocks }
}

/// The micro-kernel over all blocks of a panel.
///
/// # Safety
/// The panel's operands are as its parameters describe.
#[inline(always)]
pub(crate) unsafe fn panel<D: Dot, const MR: usize, const NV: usize>(panel: &Panel<'_>) {
    // Smaller blocks are of smaller matrices; 6 rows of 2 vectors are the largest with 16 registers.
    let asks = MR * NV >= 12 && panel.ahead.is_wanted();
    // SAFETY: forwarded.
    unsafe {
        match (panel.finish, asks) {
            (Finish::F16, true) if D::SINGLE => blocks::<D, F16, MR, NV, true>(panel),
            (Finish::F16, false) if D::SINGLE => blocks::<D, F16, MR, NV, false>(panel),
            (Finish::Bf16, true) if D::SINGLE => blocks::<D, Bf16, MR, NV, true>(panel),
            (Finish::Bf16, false) if D::SINGLE => blocks::<D, Bf16, MR, NV, false>(panel),
            (_, true) => blocks::<D, Exact, MR, NV, true>(panel),
            (_, false) => blocks::<D, Exact, MR, NV, false>(panel),
        }
    }
}

/// The same, with a rounding, and asking for the next factors or not: asking costs what a few multiplications do.
#[inline(always)]
unsafe fn blocks<D: Dot, R: Sums, const MR: usize, const NV: usize, const ASKS: bool>(panel: &Panel<'_>) {
    let params = panel.params;
    let lda = params.lda as usize;
    let apart = Apart { row: lda, word: D::WORD, vector: params.ldb as usize };
    let (words, depth) = (params.words as usize, params.k as usize);
    let steps = panel.steps.clone();
    let last = steps.end.wrapping_sub(1);
    for i in 0..params.m as usize {
        // SAFETY: the columns lie in the tiles of the row.
        let mut places = unsafe { Places::<NV>::new(panel, i) };
        for block in 0..panel.blocks {
            let row = panel.row + block * MR;
            // SAFETY: the blocks of a panel lie inside the tiles, by contract; so do all words and vectors of
            // their rows, which the layouts pad to whole ones.
            unsafe {
                // First of all: what comes before the loop is in the way of what it waits for.
                let mut acc = start::<D, MR, NV>(panel, &places);
                let mut turn = if ASKS { panel.ahead.turn() } else { None };
                for kt in steps.clone() {
                    let a = (*panel.operands.a.add(i * depth + kt)).add(row * lda);
                    let mut lo = [std::ptr::null(); NV];
                    let mut hi = [std::ptr::null(); NV];
                    for x in 0..NV {
                        (lo[x], hi[x]) = b_vector(params, panel.operands.b, panel.columns[x], kt);
                    }
                    if ASKS {
                        // Amid the products: at the ends of a block there is enough else to do besides them.
                        let half = words / 2;
                        multiply_add::<D, MR, NV>(&mut acc, a, (lo, hi), &apart, half);
                        if let Some(turn) = &mut turn {
                            turn.ask();
                        }
                        panel.ahead.ask_for_wishes();
                        let further = |b: *const u8| b.wrapping_add(half * apart.vector);
                        let halves = (lo.map(further), hi.map(further));
                        let a = a.wrapping_add(half * apart.word);
                        multiply_add::<D, MR, NV>(&mut acc, a, halves, &apart, words - half);
                    } else {
                        multiply_add::<D, MR, NV>(&mut acc, a, (lo, hi), &apart, words);
                    }
                    if R::ROUND && (kt == last || !params.relaxed) {
                        for row in &mut acc {
                            for acc in row {
                                *acc = R::round::<D>(*acc);
                            }
                        }
                    }
                }
                store::<D, MR, NV>(panel, &places, acc);
            }
            places.advance(MR, params);
        }
    }
}

/// Where the sums of a block lie: the first row of each vector.
struct Places<const NV: usize> {
    c_lo: [*const u8; NV],
    c_hi: [*const u8; NV],
    r_lo: [*mut u8; NV],
    r_hi: [*mut u8; NV],
}

impl<const NV: usize> Places<NV> {
    /// In the first block of a panel in row `i` of the grid.
    #[inline(always)]
    unsafe fn new(panel: &Panel<'_>, i: usize) -> Self {
        let Panel { params, operands, .. } = panel;
        let n = params.n as usize;
        // SAFETY: forwarded.
        unsafe {
            let (c, r) = (operands.c.add(i * n), operands.r.add(i * n));
            let at = |x: usize, ld: u32| panel.columns[x].offset + panel.row * ld as usize;
            let column = |x: usize| panel.columns[x];
            Self {
                c_lo: std::array::from_fn(|x| (*c.add(column(x).lo)).add(at(x, params.ldc))),
                c_hi: std::array::from_fn(|x| (*c.add(column(x).hi)).add(at(x, params.ldc))),
                r_lo: std::array::from_fn(|x| (*r.add(column(x).lo)).add(at(x, params.ldr))),
                r_hi: std::array::from_fn(|x| (*r.add(column(x).hi)).add(at(x, params.ldr))),
            }
        }
    }

    /// To the next block, so many rows further.
    #[inline(always)]
    fn advance(&mut self, rows: usize, params: &MulAddParams) {
        let (c, r) = (rows * params.ldc as usize, rows * params.ldr as usize);
        for x in 0..NV {
            self.c_lo[x] = self.c_lo[x].wrapping_add(c);
            self.c_hi[x] = self.c_hi[x].wrapping_add(c);
            self.r_lo[x] = self.r_lo[x].wrapping_add(r);
            self.r_hi[x] = self.r_hi[x].wrapping_add(r);
        }
    }
}

/// How many bytes the words of a product lie apart.
#[derive(Clone, Copy)]
pub(crate) struct Apart {
    /// A row of A and the next.
    pub(crate) row: usize,
    /// A word of a row of A and the next.
    pub(crate) word: usize,
    /// A row of B and the next.
    pub(crate) vector: usize,
}

/// So many words of K: `MR` broadcasts times `NV` vectors each.
///
/// # Safety
/// As for [`Dot`]: there are `MR` rows of words at `a`, and as many vectors at each of the first (and second) half.
#[inline(always)]
pub(crate) unsafe fn multiply_add<D: Dot, const MR: usize, const NV: usize>(
    acc: &mut [[D::Acc; NV]; MR],
    mut a: *const u8,
    mut halves: ([*const u8; NV], [*const u8; NV]),
    apart: &Apart,
    words: usize,
) {
    // SAFETY: forwarded.
    unsafe {
        if !D::SPARES_INSTRUCTIONS {
            let mut at = 0;
            for _ in 0..words {
                step::<D, MR, NV>(acc, |y| a.wrapping_add(y * apart.row), halves, at);
                a = a.wrapping_add(apart.word);
                at += apart.vector;
            }
            return;
        }
        // Every third row: from each of these an address reaches the next two with their distance as its index.
        let mut thirds = [a, a.wrapping_add(3 * apart.row), a.wrapping_add(6 * apart.row)];
        let row = |thirds: &[*const u8; 3], y: usize| thirds[y / 3].wrapping_add(y % 3 * apart.row);
        for _ in 0..words / 2 {
            thirds = thirds.map(|a| D::hidden(a));
            halves.0 = halves.0.map(|b| D::hidden(b));
            let next = thirds.map(|a| a.wrapping_add(apart.word));
            if NV == IN_PAIRS {
                step_in_pairs::<D, MR, NV, false>(acc, |y| row(&thirds, y), halves.0, 0);
                step_in_pairs::<D, MR, NV, true>(acc, |y| row(&next, y), halves.0, apart.vector);
            } else {
                step::<D, MR, NV>(acc, |y| row(&thirds, y), halves, 0);
                step::<D, MR, NV>(acc, |y| row(&next, y), halves, apart.vector);
            }
            thirds = next.map(|a| a.wrapping_add(apart.word));
            halves.0 = halves.0.map(|b| b.wrapping_add(2 * apart.vector));
        }
        let is_left = !words.is_multiple_of(2);
        if is_left && NV == IN_PAIRS {
            step_in_pairs::<D, MR, NV, false>(acc, |y| row(&thirds, y), halves.0, 0);
        } else if is_left {
            step::<D, MR, NV>(acc, |y| row(&thirds, y), halves, 0);
        }
    }
}

/// So many vectors of a family that spares instructions are two pairs, each in one tile and side by side: the plan chooses
/// them only then.
pub(super) const IN_PAIRS: usize = 4;

/// One word of K, of pairs of vectors: there are registers for the first of each, the second is an operand in memory.
///
/// # Safety
/// As for [`step`]; vectors 1 and 3 lie behind 0 and 2.
#[inline(always)]
unsafe fn step_in_pairs<D: Dot, const MR: usize, const NV: usize, const FURTHER: bool>(
    acc: &mut [[D::Acc; NV]; MR],
    row: impl Fn(usize) -> *const u8,
    lo: [*const u8; NV],
    at: usize,
) {
    // SAFETY: forwarded.
    unsafe {
        let pairs = [lo[0], lo[NV / 2]];
        let b = pairs.map(|b| D::load_b(b.wrapping_add(at), b.wrapping_add(at)));
        for (y, acc) in acc.iter_mut().enumerate() {
            let word = D::splat(row(y));
            for (pair, (place, b)) in pairs.into_iter().zip(b).enumerate() {
                acc[2 * pair] = D::dot(acc[2 * pair], word, b);
                acc[2 * pair + 1] = D::dot_behind::<FURTHER>(acc[2 * pair + 1], word, place, at);
            }
        }
    }
}

/// One word of K.
///
/// # Safety
/// As for [`multiply_add`]; `row` says where the word of each row is.
#[inline(always)]
pub(crate) unsafe fn step<D: Dot, const MR: usize, const NV: usize>(
    acc: &mut [[D::Acc; NV]; MR],
    row: impl Fn(usize) -> *const u8,
    (lo, hi): ([*const u8; NV], [*const u8; NV]),
    at: usize,
) {
    // SAFETY: forwarded.
    unsafe {
        let mut b = [D::load_b(lo[0].wrapping_add(at), hi[0].wrapping_add(at)); NV];
        for x in 1..NV {
            b[x] = D::load_b(lo[x].wrapping_add(at), hi[x].wrapping_add(at));
        }
        for (y, acc) in acc.iter_mut().enumerate() {
            let word = D::splat(row(y));
            for (acc, b) in acc.iter_mut().zip(b) {
                *acc = D::dot(*acc, word, b);
            }
        }
    }
}

/// What the accumulators start with: C, or what makes the bits good that were turned in A. Sums of integers are the same
/// in any order, so C may be added at the end then, where it is not waited for.
#[inline(always)]
unsafe fn start<D: Dot, const MR: usize, const NV: usize>(
    panel: &Panel<'_>,
    places: &Places<NV>,
) -> [[D::Acc; NV]; MR] {
    let ldc = panel.params.ldc as usize;
    // SAFETY: as for `panel`.
    unsafe {
        let mut acc = [[D::zero(); NV]; MR];
        for x in 0..NV {
            if panel.is_compensated::<D>() {
                let from = panel.operands.compensation.add(x * D::LANES * 4);
                let extra = D::load_acc(from, from.add(D::LANES * 2));
                acc.iter_mut().for_each(|acc| acc[x] = extra);
            } else if D::SINGLE || panel.finish != Finish::WithoutC {
                for (y, acc) in acc.iter_mut().enumerate() {
                    acc[x] = D::load_acc(places.c_lo[x].add(y * ldc), places.c_hi[x].add(y * ldc));
                }
            }
        }
        acc
    }
}

/// Stores the accumulators, and what they did not start with.
#[inline(always)]
unsafe fn store<D: Dot, const MR: usize, const NV: usize>(
    panel: &Panel<'_>,
    places: &Places<NV>,
    acc: [[D::Acc; NV]; MR],
) {
    let (ldc, ldr) = (panel.params.ldc as usize, panel.params.ldr as usize);
    let adds = panel.is_compensated::<D>() && panel.finish != Finish::WithoutC;
    // SAFETY: as for `panel`.
    unsafe {
        for x in 0..NV {
            for (y, acc) in acc.iter().enumerate() {
                let mut sum = acc[x];
                if adds {
                    let c = D::load_acc(places.c_lo[x].add(y * ldc), places.c_hi[x].add(y * ldc));
                    sum = D::add(sum, c);
                }
                D::store_acc(places.r_lo[x].add(y * ldr), places.r_hi[x].wrapping_add(y * ldr), sum);
            }
        }
    }
}
