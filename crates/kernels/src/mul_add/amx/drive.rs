//! The walk over the blocks of a grid.

use super::split::{self, Piece, Specials};
use super::{Cut, Parts, REGISTER_BYTES, ROW_BYTES, ROWS, SPLIT_WORDS, WORDS};
use crate::arch::x86_64::amx::{self, Product};
use crate::mul_add::MulAddParams;
use crate::mul_add::panel::{Finish, Operands};
use std::arch::x86_64::{__m128i, __m256i, __m512i};
use std::ops::Range;

/// Blocks, by their addresses, and the bytes from row to row of each.
#[derive(Clone, Copy)]
struct Blocks<T> {
    list: *mut T,
    stride: usize,
}

impl<T: Copy> Blocks<T> {
    /// Lists blocks that follow each other.
    ///
    /// # Safety
    /// There is room for so many addresses.
    #[inline(always)]
    unsafe fn packed(list: *mut T, count: usize, address: impl Fn(usize) -> T) -> Self {
        for at in 0..count {
            // SAFETY: forwarded.
            unsafe { list.add(at).write(address(at * REGISTER_BYTES)) };
        }
        Self { list, stride: ROW_BYTES }
    }
}

/// Does some steps of the whole grid; without C where the finish says so.
///
/// # Safety
/// The operands are as `params` describes, `scratch` is as large as the [`Cut`] of all steps says. The thread has matrix
/// registers.
#[inline(always)]
pub(crate) unsafe fn drive<P: Product>(
    params: &MulAddParams,
    operands: Operands,
    finish: Finish,
    steps: Range<usize>,
    scratch: *mut u8,
) {
    // SAFETY: forwarded; words that lie as they are have no specials.
    unsafe { drive_blocks::<P, false>(params, operands, finish, steps, scratch) };
}

/// Does the whole grid of factors that are split; or nothing, if some are infinite or no numbers.
///
/// # Safety
/// As for [`drive`].
#[inline(always)]
#[must_use]
pub(crate) unsafe fn drive_split<P: Product>(
    params: &MulAddParams,
    operands: Operands,
    scratch: *mut u8,
) -> bool {
    // SAFETY: forwarded.
    unsafe { drive_blocks::<P, true>(params, operands, Finish::Plain, 0..params.k as usize, scratch) }
}

/// What [`drive`] does and, where words are split, [`drive_split`].
///
/// # Safety
/// As for [`drive`].
#[inline(always)]
unsafe fn drive_blocks<P: Product, const SPLIT: bool>(
    params: &MulAddParams,
    operands: Operands,
    finish: Finish,
    steps: Range<usize>,
    scratch: *mut u8,
) -> bool {
    let cut = Cut::new(params, steps.len());
    let with_c = finish != Finish::WithoutC;
    // SAFETY: the parts of the scratch memory are disjoint and sized for what is written there.
    unsafe {
        let (a, b) = if SPLIT {
            let mut specials = Specials::NONE;
            let blocks = if cut.parts == 2 {
                split_factors::<2>(params, &cut, operands, steps, scratch, &mut specials)
            } else {
                split_factors::<1>(params, &cut, operands, steps, scratch, &mut specials)
            };
            if specials.any() {
                return false;
            }
            blocks
        } else {
            let a = blocks_of_a(params, &cut, operands.a, steps.clone(), scratch);
            (a, blocks_of_b(params, &cut, operands.b, steps, scratch))
        };
        let r_list = scratch.add(cut.r_list).cast::<*mut u8>();
        let c_list = scratch.add(cut.c_list).cast::<*const u8>();
        let (c, r) = if cut.c_lies {
            let c =
                blocks_of_sums(params, &cut, c_list, params.ldc, |tile, at| (*operands.c.add(tile)).add(at));
            (c, blocks_of_sums(params, &cut, r_list, params.ldr, |tile, at| (*operands.r.add(tile)).add(at)))
        } else {
            let blocks = scratch.add(cut.c_blocks);
            if with_c {
                copy_sums::<true>(params, &cut, operands.c.cast(), params.ldc, blocks);
            }
            let count = cut.rows * cut.cols;
            let c = Blocks::packed(c_list, count, |at| blocks.add(at).cast_const());
            (c, Blocks::packed(r_list, count, |at| blocks.add(at)))
        };
        let grid = Walk { a, b, c, r, cut: &cut, with_c };
        if SPLIT && cut.parts == 2 {
            grid.all::<P, true>()
        } else {
            grid.all::<P, false>()
        }
        if !cut.c_lies {
            copy_sums::<false>(params, &cut, operands.r, params.ldr, scratch.add(cut.c_blocks));
        }
    }
    true
}

/// The operands of the walk over the blocks.
struct Walk<'a> {
    a: Blocks<*const u8>,
    b: Blocks<*const u8>,
    c: Blocks<*const u8>,
    r: Blocks<*mut u8>,
    cut: &'a Cut,
    with_c: bool,
}

impl Walk<'_> {
    /// All sums, of factors with lower parts or without.
    ///
    /// # Safety
    /// The lists hold the blocks that the cut says.
    #[inline(always)]
    unsafe fn all<P: Product, const LOWER: bool>(&self) {
        for col in (0..self.cut.cols).step_by(2) {
            for row in (0..self.cut.rows).step_by(2) {
                // SAFETY: forwarded; the blocks are in the grid.
                unsafe {
                    match (row + 1 < self.cut.rows, col + 1 < self.cut.cols) {
                        (true, true) => self.block::<P, LOWER, true, true>(row, col),
                        (true, false) => self.block::<P, LOWER, true, false>(row, col),
                        (false, true) => self.block::<P, LOWER, false, true>(row, col),
                        (false, false) => self.block::<P, LOWER, false, false>(row, col),
                    }
                }
            }
        }
    }

    /// The sums of one or two rows and columns of blocks: those in registers 0 to 3, A in 4 and 5, B in 6 and 7.
    ///
    /// # Safety
    /// The blocks are in the grid.
    #[inline(always)]
    unsafe fn block<P: Product, const LOWER: bool, const ROW: bool, const COL: bool>(
        &self,
        row: usize,
        col: usize,
    ) {
        let (depth, cols) = (self.cut.depth, self.cut.cols);
        let at = row * cols + col;
        // SAFETY: the lists hold addresses of whole blocks, those of upper and lower parts in turn where there are both.
        unsafe {
            let (a, b) = (self.a.list.add(row * depth), self.b.list.add(col * depth));
            // Sums are read between the first products, which wait for nothing else then.
            let c = self.c.list.add(at);
            amx::load::<6>(*b, self.b.stride);
            amx::load::<4>(*a, self.a.stride);
            self.start::<0>(c, 0);
            P::add::<0, 4, 6>();
            if COL {
                amx::load::<7>(*b.add(depth), self.b.stride);
                self.start::<1>(c, 1);
                P::add::<1, 4, 7>();
            }
            if ROW {
                amx::load::<5>(*a.add(depth), self.a.stride);
                self.start::<2>(c, cols);
                P::add::<2, 5, 6>();
            }
            if ROW && COL {
                self.start::<3>(c, cols + 1);
                P::add::<3, 5, 7>();
            }
            if LOWER {
                self.lower::<P, ROW, COL>(a, b);
            }
            for l in (1..depth).skip(usize::from(LOWER)).step_by(1 + usize::from(LOWER)) {
                let (a, b) = (a.add(l), b.add(l));
                self.load_a::<ROW>(a);
                self.add_b::<P, ROW, COL>(b);
                if LOWER {
                    self.lower::<P, ROW, COL>(a, b);
                }
            }
            let (r, stride) = (self.r.list.add(at), self.r.stride);
            amx::store::<0>(*r, stride);
            if COL {
                amx::store::<1>(*r.add(1), stride);
            }
            if ROW {
                amx::store::<2>(*r.add(cols), stride);
            }
            if ROW && COL {
                amx::store::<3>(*r.add(cols + 1), stride);
            }
        }
    }

    /// The products with lower parts, after that of the upper parts, of A in registers. One factor changes at a time.
    ///
    /// # Safety
    /// The lists hold addresses of whole blocks.
    #[inline(always)]
    unsafe fn lower<P: Product, const ROW: bool, const COL: bool>(
        &self,
        a: *const *const u8,
        b: *const *const u8,
    ) {
        // SAFETY: forwarded; lower parts follow.
        unsafe {
            self.add_b::<P, ROW, COL>(b.add(1));
            self.load_a::<ROW>(a.add(1));
            P::add::<0, 4, 6>();
            if COL {
                P::add::<1, 4, 7>();
            }
            if ROW {
                P::add::<2, 5, 6>();
            }
            if ROW && COL {
                P::add::<3, 5, 7>();
            }
            self.add_b::<P, ROW, COL>(b);
        }
    }

    /// Reads blocks of A.
    ///
    /// # Safety
    /// The list holds addresses of whole blocks.
    #[inline(always)]
    unsafe fn load_a<const ROW: bool>(&self, a: *const *const u8) {
        // SAFETY: forwarded.
        unsafe {
            amx::load::<4>(*a, self.a.stride);
            if ROW {
                amx::load::<5>(*a.add(self.cut.depth), self.a.stride);
            }
        }
    }

    /// Reads blocks of B and adds their products with those of A in registers.
    ///
    /// # Safety
    /// The list holds addresses of whole blocks.
    #[inline(always)]
    unsafe fn add_b<P: Product, const ROW: bool, const COL: bool>(&self, b: *const *const u8) {
        // SAFETY: forwarded.
        unsafe {
            amx::load::<6>(*b, self.b.stride);
            P::add::<0, 4, 6>();
            if COL {
                amx::load::<7>(*b.add(self.cut.depth), self.b.stride);
                P::add::<1, 4, 7>();
            }
            if ROW {
                P::add::<2, 5, 6>();
            }
            if ROW && COL {
                P::add::<3, 5, 7>();
            }
        }
    }

    /// What a register of sums starts with.
    #[inline(always)]
    unsafe fn start<const T: u8>(&self, c: *const *const u8, at: usize) {
        // SAFETY: the list holds addresses of whole blocks.
        unsafe { if self.with_c { amx::load::<T>(*c.add(at), self.c.stride) } else { amx::zero::<T>() } }
    }
}

/// Lists the blocks of A, row by row of blocks.
#[inline(always)]
unsafe fn blocks_of_a(
    params: &MulAddParams,
    cut: &Cut,
    tiles: *const *const u8,
    steps: Range<usize>,
    scratch: *mut u8,
) -> Blocks<*const u8> {
    let (rows, words, stride) = (params.rows as usize, params.words as usize, params.lda as usize);
    let (first, count) = (steps.start, steps.len());
    // SAFETY: the tiles are in the grid, the blocks in the scratch memory.
    unsafe {
        let list = scratch.add(cut.a_list).cast::<*const u8>();
        let tile = |i: usize, x: usize| *tiles.add(i * params.k as usize + first + x);
        if cut.a_lies {
            let mut next = list;
            for i in 0..params.m as usize {
                for row in (0..rows).step_by(ROWS) {
                    for x in 0..count {
                        let from = tile(i, x).add(row * stride);
                        for word in (0..words).step_by(WORDS) {
                            next.write(from.add(word * 4));
                            next = next.add(1);
                        }
                    }
                }
            }
            return Blocks { list, stride };
        }
        let blocks = scratch.add(cut.a_blocks);
        if !(count * words).is_multiple_of(WORDS) {
            zero_last(blocks, cut.rows, cut.depth);
        }
        let (piece, piece_rows) = (piece(words), piece(rows));
        for i in 0..params.m as usize {
            for x in 0..count {
                let tile = tile(i, x);
                for word in (0..words).step_by(piece) {
                    for row in (0..rows).step_by(piece_rows) {
                        let (line, at) = (i * rows + row, x * words + word);
                        let block = line / ROWS * cut.depth + at / WORDS;
                        let to = blocks.add(place(block, line % ROWS, at % WORDS));
                        let from = tile.add(row * stride + word * 4);
                        copy((to, ROW_BYTES), (from, stride), piece_rows, piece);
                    }
                }
            }
        }
        Blocks::packed(list, cut.rows * cut.depth, |at| blocks.add(at).cast_const())
    }
}

/// Lists the blocks of B, column by column of blocks.
#[inline(always)]
unsafe fn blocks_of_b(
    params: &MulAddParams,
    cut: &Cut,
    tiles: *const *const u8,
    steps: Range<usize>,
    scratch: *mut u8,
) -> Blocks<*const u8> {
    let (cols, words, stride) = (params.b.cols as usize, params.words as usize, params.ldb as usize);
    let (first, count) = (steps.start, steps.len());
    // SAFETY: the tiles are in the grid, the blocks in the scratch memory.
    unsafe {
        let list = scratch.add(cut.b_list).cast::<*const u8>();
        let tile = |x: usize, j: usize| *tiles.add((first + x) * params.n as usize + j);
        if cut.b_lies {
            let mut next = list;
            for j in 0..params.n as usize {
                for col in (0..cols).step_by(WORDS) {
                    for x in 0..count {
                        let from = tile(x, j).add(col * 4);
                        for word in (0..words).step_by(ROWS) {
                            next.write(from.add(word * stride));
                            next = next.add(1);
                        }
                    }
                }
            }
            return Blocks { list, stride };
        }
        let blocks = scratch.add(cut.b_blocks);
        if !(count * words).is_multiple_of(WORDS) {
            zero_last(blocks, cut.cols, cut.depth);
        }
        let (piece, piece_words) = (piece(cols), piece(words));
        for j in 0..params.n as usize {
            for x in 0..count {
                let tile = tile(x, j);
                for col in (0..cols).step_by(piece) {
                    for word in (0..words).step_by(piece_words) {
                        let (line, at) = (x * words + word, j * cols + col);
                        let block = at / WORDS * cut.depth + line / ROWS;
                        let to = blocks.add(place(block, line % ROWS, at % WORDS));
                        let from = tile.add(word * stride + col * 4);
                        copy((to, ROW_BYTES), (from, stride), piece_words, piece);
                    }
                }
            }
        }
        Blocks::packed(list, cut.cols * cut.depth, |at| blocks.add(at).cast_const())
    }
}

/// Lists the blocks of both factors in parts, row by row of A and column by column of B, with all parts of one behind each
/// other. What was not split when it was loaded is split now.
///
/// # Safety
/// As for [`drive`].
#[inline(always)]
unsafe fn split_factors<const PARTS: usize>(
    params: &MulAddParams,
    cut: &Cut,
    operands: Operands,
    steps: Range<usize>,
    scratch: *mut u8,
    specials: &mut Specials,
) -> (Blocks<*const u8>, Blocks<*const u8>) {
    let (m, n, k) = (params.m as usize, params.n as usize, params.k as usize);
    let (rows, cols) = (params.rows as usize, params.b.cols as usize);
    // SAFETY: the tiles are in the grid, the blocks in the scratch memory.
    unsafe {
        let (a_list, b_list) = (scratch.add(cut.a_list).cast(), scratch.add(cut.b_list).cast());
        let a_tile = |i: usize, step: usize| *operands.a.add(i * k + step);
        let b_tile = |j: usize, step: usize| *operands.b.add(step * n + j);
        let a = match Parts::of(&params.a).filter(|_| params.a_parts) {
            Some(parts) => blocks_behind(a_list, parts, m, steps.clone(), a_tile, specials),
            None => {
                let (blocks, size) = (scratch.add(cut.a_blocks), (m, rows, params.lda as usize));
                split_tiles::<PARTS, true>(params, cut, blocks, size, steps.clone(), a_tile, specials);
                Blocks::packed(a_list, cut.rows * cut.depth, |at| blocks.add(at).cast_const())
            }
        };
        let b = match Parts::of(&params.b).filter(|_| params.b_parts) {
            Some(parts) => blocks_behind(b_list, parts, n, steps, b_tile, specials),
            None => {
                let (blocks, size) = (scratch.add(cut.b_blocks), (n, cols, params.ldb as usize));
                split_tiles::<PARTS, false>(params, cut, blocks, size, steps, b_tile, specials);
                Blocks::packed(b_list, cut.cols * cut.depth, |at| blocks.add(at).cast_const())
            }
        };
        (a, b)
    }
}

/// Splits a factor: so many tiles of so many lines, which are rows of A or columns of B, of rows so many bytes apart.
///
/// # Safety
/// The tiles are such ones; `blocks` has room for the blocks of all.
#[inline(always)]
unsafe fn split_tiles<const PARTS: usize, const IS_A: bool>(
    params: &MulAddParams,
    cut: &Cut,
    blocks: *mut u8,
    (count, lines, stride): (usize, usize, usize),
    steps: Range<usize>,
    tile: impl Fn(usize, usize) -> *const u8,
    specials: &mut Specials,
) {
    let words = params.words as usize;
    let (along, across) = (piece(words), piece(lines));
    // Bytes from line to line and from word to word of the inner dimension, and rows and columns of a piece.
    let (line_step, word_step, size) =
        if IS_A { (stride, 4, (across, along)) } else { (4, stride, (along, across)) };
    for at in 0..count {
        for line in (0..lines).step_by(across) {
            // The piece that begins with a word of the inner dimension, or zeros behind the last.
            let from = |word: usize| {
                let (step, word) = (word / words, word % words);
                if step >= steps.len() {
                    return Piece::ZERO;
                }
                let tile = tile(at, steps.start + step);
                Piece { words: tile.wrapping_add(line * line_step + word * word_step), stride }
            };
            let all = at * lines + line;
            for block in 0..cut.depth / PARTS {
                for word in (0..WORDS).step_by(along) {
                    let (row, column) = if IS_A { (all % ROWS, word) } else { (word, all % WORDS) };
                    let to = place(all / ROWS * cut.depth + block * PARTS, row, column);
                    let word = block * SPLIT_WORDS + word;
                    let pieces = [from(word), from(word + WORDS)];
                    // SAFETY: forwarded.
                    unsafe { split::copy::<PARTS>(blocks.add(to), pieces, size, specials) };
                }
            }
        }
    }
}

/// Lists the blocks of parts behind tiles, of which there are `count` rows of A or columns of B.
///
/// # Safety
/// The tiles have such parts; the list has room for all.
#[inline(always)]
unsafe fn blocks_behind(
    list: *mut *const u8,
    parts: Parts,
    count: usize,
    steps: Range<usize>,
    tile: impl Fn(usize, usize) -> *const u8,
    specials: &mut Specials,
) -> Blocks<*const u8> {
    let mut next = list;
    for at in 0..count {
        for line in 0..parts.lines {
            for step in steps.clone() {
                let tile = tile(at, step);
                // SAFETY: forwarded.
                unsafe {
                    specials.add(tile.add(parts.line));
                    for block in 0..parts.depth * parts.parts {
                        next.write(tile.add(parts.block(line, 0, block)));
                        next = next.add(1);
                    }
                }
            }
        }
    }
    Blocks { list, stride: ROW_BYTES }
}

/// Lists the blocks of sums that lie in tiles, row by row of blocks.
#[inline(always)]
unsafe fn blocks_of_sums<T: Copy>(
    params: &MulAddParams,
    cut: &Cut,
    list: *mut T,
    stride: u32,
    address: impl Fn(usize, usize) -> T,
) -> Blocks<T> {
    let (n, stride) = (params.n as usize, stride as usize);
    let mut next = list;
    for i in 0..params.m as usize {
        for row in (0..params.rows as usize).step_by(ROWS) {
            for j in 0..n {
                for col in (0..params.b.cols as usize).step_by(WORDS) {
                    // SAFETY: the list has room for the blocks of all tiles.
                    unsafe { next.write(address(i * n + j, row * stride + col * 4)) };
                    next = next.wrapping_add(1);
                }
            }
        }
    }
    debug_assert_eq!(next, list.wrapping_add(cut.rows * cut.cols), "every block is listed");
    Blocks { list, stride }
}

/// Copies sums from tiles to blocks, or back if not `IN`.
#[inline(always)]
unsafe fn copy_sums<const IN: bool>(
    params: &MulAddParams,
    cut: &Cut,
    tiles: *const *mut u8,
    stride: u32,
    blocks: *mut u8,
) {
    let (rows, cols, n) = (params.rows as usize, params.b.cols as usize, params.n as usize);
    let stride = stride as usize;
    let (piece, piece_rows) = (piece(cols), piece(rows));
    for i in 0..params.m as usize {
        for j in 0..n {
            // SAFETY: the tile is in the grid.
            let tile = unsafe { *tiles.add(i * n + j) };
            for col in (0..cols).step_by(piece) {
                for row in (0..rows).step_by(piece_rows) {
                    let (line, at) = (i * rows + row, j * cols + col);
                    let block = line / ROWS * cut.cols + at / WORDS;
                    // SAFETY: the piece lies in the tile, and in the block, which is one of the grid's.
                    unsafe {
                        let tile = tile.add(row * stride + col * 4);
                        let block = blocks.add(place(block, line % ROWS, at % WORDS));
                        let (tile, block) = ((tile, stride), (block, ROW_BYTES));
                        let (to, from) = if IN { (block, tile) } else { (tile, block) };
                        copy(to, (from.0.cast_const(), from.1), piece_rows, piece);
                    }
                }
            }
        }
    }
}

/// The longest pieces that such a length and blocks can both be cut into.
#[inline(always)]
fn piece(length: usize) -> usize {
    1 << length.trailing_zeros().min(WORDS.trailing_zeros())
}

/// Where a word is in blocks that follow each other, in bytes.
#[inline(always)]
fn place(block: usize, row: usize, word: usize) -> usize {
    block * REGISTER_BYTES + row * ROW_BYTES + word * 4
}

/// Makes zero of the last of each `depth` blocks.
#[inline(always)]
unsafe fn zero_last(blocks: *mut u8, count: usize, depth: usize) {
    for last in 1..=count {
        // SAFETY: the caller vouches for so many blocks.
        unsafe { blocks.add((last * depth - 1) * REGISTER_BYTES).write_bytes(0, REGISTER_BYTES) };
    }
}

/// Copies a piece of 4, 8 or 16 words of so many rows, between places with so many bytes from row to row.
///
/// # Safety
/// The words are readable and writable; the processor has AVX-512.
#[inline(always)]
unsafe fn copy(to: (*mut u8, usize), from: (*const u8, usize), rows: usize, words: usize) {
    // SAFETY: forwarded.
    unsafe {
        match words {
            WORDS => copy_rows::<__m512i>(to, from, rows),
            8 => copy_rows::<__m256i>(to, from, rows),
            _ => copy_rows::<__m128i>(to, from, rows),
        }
    }
}

/// Copies rows of one vector.
#[inline(always)]
unsafe fn copy_rows<V>(to: (*mut u8, usize), from: (*const u8, usize), rows: usize) {
    let (mut to, to_stride) = to;
    let (mut from, from_stride) = from;
    for _ in 0..rows {
        // SAFETY: the caller vouches for the vectors of all rows.
        unsafe { to.cast::<V>().write_unaligned(from.cast::<V>().read_unaligned()) };
        to = to.wrapping_add(to_stride);
        from = from.wrapping_add(from_stride);
    }
}
