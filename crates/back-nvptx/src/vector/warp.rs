//! The products of one matrix and the vectors of a warp, as products of matrices.
//!
//! Where all threads of a warp come together and share the matrix, their vectors are the 32 rows of a left factor, and the
//! matrix in memory is the right one. `mma.sync` wants a row spread over four threads (`spread`). The order along K is free
//! as long as both factors have the same, so that a thread has neighbours, which it loads from the matrix at once; and so
//! is that of the results, which is the order in which the next product wants them.

use super::multiply::Product;
use super::spread::{Block, QUAD, Spread, blocks, in_word};
use super::{Matrix, Places};
use crate::coopmat::fragment::{self, Memory};
use crate::lower::{Lower, Ptr};
use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode, PointerValue};
use phalanx_emit_llvm::{Error, Result, V, const_int};
use phalanx_ir::{Component, Inst, MemFlags, Scalar, VecMatMul};

/// Most rows and columns of a matrix: sums and factors have to stay in registers.
const MOST: u32 = 128;

/// Words that a thread has of a row in a step along K.
const WORDS: usize = 2;

/// Most bytes of an access.
const ACCESS: u64 = 16;

/// How vectors of a warp are multiplied together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Together {
    product: fragment::Product,
    /// What is multiplied, and how many of it are in a word.
    factor: Scalar,
    in_word: u32,
}

impl Together {
    /// The instruction for a product, if there is one.
    fn of(op: &VecMatMul) -> Option<Self> {
        use Component as C;
        let is_half = |component| matches!(component, C::F16 | C::E4m3 | C::E5m2);
        let (product, factor) = match (op.interpretation, op.matrix) {
            (x, a) if is_half(x) && is_half(a) => (fragment::Product::Half, Scalar::F16),
            (x @ (C::S8 | C::U8), a @ (C::S8 | C::U8)) => {
                let [a_signed, b_signed] = [x, a].map(Component::is_signed);
                (fragment::Product::Bytes { a_signed, b_signed }, Scalar::I8)
            }
            _ => return None,
        };
        Some(Self { product, factor, in_word: 32 / factor.bits() })
    }

    /// Factors in a word.
    pub(super) fn in_word(self) -> u32 {
        self.in_word
    }

    /// Whether what one product leaves can be what the other one takes.
    pub(super) fn goes_with(self, other: Self) -> bool {
        self.in_word == other.in_word
    }
}

/// Elements of a line of a matrix that are read at once.
#[derive(Clone, Copy, Debug)]
struct Pieces {
    count: u32,
    align: u64,
}

impl Pieces {
    /// Of a line of so many elements, from one multiple of `own` to the next: as many as lie there for certain.
    fn of(length: u32, own: u32, s: Scalar) -> Self {
        let count = 1 << (length | own).trailing_zeros();
        Self { count, align: (u64::from(count) * u64::from(s.bytes())).min(ACCESS) }
    }
}

impl Matrix<'_> {
    /// Whether there are zeros as far as the last blocks of rows and columns go.
    fn is_padded(&self) -> bool {
        matches!(self.places, Places::Paired { .. })
    }

    /// Whether it comes through registers where it is transposed; what lies by columns and is the transpose has rows.
    fn is_turned(&self) -> bool {
        matches!(self.places, Places::Paired { transposed: true, .. })
    }

    /// The bytes from a row to the next, if they are known: half of those from a pair of rows to the next.
    fn stride(&self) -> Option<u64> {
        match self.places {
            Places::Lines([_, along_column]) => const_int(along_column),
            Places::Paired { stride, .. } => Some(stride),
        }
    }

    /// The bytes from the first element of a row to the first one of a block, before which all are whole.
    fn along(&self, first: u32) -> u64 {
        let bytes = u64::from(self.elem.bytes()) * u64::from(first);
        match self.places {
            Places::Lines(_) => bytes,
            // A whole block is a turn.
            Places::Paired { .. } => 2 * bytes,
        }
    }
}

impl<'c> Lower<'_, 'c> {
    /// How the vectors of a warp may be multiplied together: the matrix and the bias are the same for all, and its rows lie as
    /// they are read.
    pub(super) fn together(&self, inst: Inst, op: &VecMatMul) -> Option<Together> {
        let together = Together::of(op)?;
        let args = &self.f.inst(inst).args;
        let is_shared = args.iter().all(|&v| self.uniformity.is_uniform(v));
        let element = u64::from(op.layout.kept(op.matrix).bytes());
        // Of two strides that the operand may be, both have neighbours side by side.
        let has_rows = [0, 1].iter().all(|&stride| match op.steps(stride) {
            Some((along_row, _)) => along_row == element,
            // Halves are transposed in registers.
            None => !op.transposed || together.factor == Scalar::F16,
        });
        let fits = op.m <= MOST && op.k <= MOST;
        let counts = [(op.input, op.k), (op.result, op.m)];
        let is_whole = counts.iter().all(|&(var, count)| self.f.var(var).count == count);
        (is_shared && has_rows && fits && is_whole && !op.packed).then_some(together)
    }

    /// The pieces of a product's rows.
    fn pieces(&self, op: &VecMatMul, own: u32) -> Pieces {
        let s = op.layout.kept(op.matrix);
        // Rows of optimal layouts begin at multiples of an access, and zeros follow them.
        if op.layout.is_optimal() {
            let count = own.min(ACCESS as u32 / s.bytes());
            return Pieces { count, align: u64::from(count * s.bytes()) };
        }
        Pieces::of(op.k, own, s)
    }

    /// Whether all threads of the warp are here, and what they share is inside and aligned.
    pub(super) fn are_together(&mut self, together: Together, products: &[Product<'_, 'c>]) -> Result<V<'c>> {
        let word = self.e.cx.i32_type().into();
        // Nothing may move across it, as that would be where others are.
        let here = self.assembly("activemask.b32 $0;", &[word], &[], Memory::Write)?[0];
        let mut holds = self.e.icmp(IntPredicate::EQ, here, self.e.i32(u32::MAX))?;
        for product in products {
            let most =
                |length| blocks(length, together.in_word).iter().map(|block| block.own).max().unwrap_or(1);
            let length = if product.matrix.is_turned() { product.op.m } else { product.op.k };
            let pieces = self.pieces(product.op, most(length));
            let matrix = self.is_inside_and_aligned(&product.matrix, pieces.align)?;
            holds = self.e.and(holds, matrix)?;
            if let Some((component, p)) = product.bias {
                let (s, m) = (component.scalar(), product.op.m);
                let pieces = Pieces::of(m, most(m), s);
                let bias = self.is_span_inside(&p, u64::from(m * s.bytes()), pieces.align)?;
                holds = self.e.and(holds, bias)?;
            }
        }
        Ok(holds)
    }

    /// What a thread's vector gives of the left factor, spread.
    pub(super) fn factor_of_rows(
        &mut self,
        together: Together,
        product: &Product<'_, 'c>,
        row: &[V<'c>],
    ) -> Result<Vec<[V<'c>; QUAD]>> {
        let factors =
            row.iter().map(|&x| self.as_factor(together, product, x)).collect::<Result<Vec<_>>>()?;
        let spread = self.spread_rows(together, together.factor, &factors)?;
        Ok(words_of_rows(&spread))
    }

    /// The left factor that a spread vector is: words by rows.
    pub(super) fn factor_of(
        &mut self,
        together: Together,
        product: &Product<'_, 'c>,
        input: &Spread<'c>,
    ) -> Result<Vec<[V<'c>; QUAD]>> {
        let op = product.op;
        let is_same = match (input.s, op.interpretation) {
            (Scalar::F16, Component::F16) => true,
            (Scalar::I8, Component::S8) => op.input_signed,
            (Scalar::I8, Component::U8) => !op.input_signed,
            _ => false,
        };
        let mut words = if is_same { words_of_rows(input) } else { Vec::new() };
        if !is_same {
            let mut rows: [Vec<V<'c>>; QUAD] = Default::default();
            for (row, from) in rows.iter_mut().zip(&input.rows) {
                let mut elements = Vec::new();
                for &word in from {
                    for i in 0..in_word(input.s) as u32 {
                        let x = self.element_of_word(input.s, word, i)?;
                        elements.push(self.as_factor(together, product, x)?);
                    }
                }
                for elements in elements.chunks(together.in_word as usize) {
                    row.push(self.word(together.factor, elements)?);
                }
            }
            words = words_of_rows(&Spread { s: together.factor, rows });
        }
        // What is beyond the last column was made of whatever was there.
        let mut first = 0;
        for block in blocks(op.k, together.in_word) {
            let count = (block.own / together.in_word) as usize;
            if block.first + QUAD as u32 * block.own > op.k {
                for (number, words) in words[first..first + count].iter_mut().enumerate() {
                    let mask = self.mask_of_word(together, op.k, block, number as u32)?;
                    for word in words {
                        *word = self.e.and(*word, mask)?;
                    }
                }
            }
            first += count;
        }
        Ok(words)
    }

    /// The bits of a thread's word that are columns of the matrix.
    fn mask_of_word(&mut self, together: Together, k: u32, block: Block, number: u32) -> Result<V<'c>> {
        let turn = self.number_in_quad()?;
        let first = self.e.mul(turn, self.e.i32(block.own))?;
        let first = self.e.add(first, self.e.i32(block.first + number * together.in_word))?;
        let mut mask = self.e.i32(0);
        let bits = together.factor.bits();
        for i in 0..together.in_word {
            let element = self.e.i32((u32::MAX >> (32 - bits)) << (i * bits));
            let column = self.e.add(first, self.e.i32(i))?;
            let exists = self.e.icmp(IntPredicate::ULT, column, self.e.i32(k))?;
            let element = self.e.select(exists, element, self.e.i32(0))?;
            mask = self.e.or(mask, element)?;
        }
        Ok(mask)
    }

    /// A component as it is multiplied.
    fn as_factor(&mut self, together: Together, product: &Product<'_, 'c>, x: V<'c>) -> Result<V<'c>> {
        let op = product.op;
        let (_, from) = self.vector(op.input)?;
        if (from, op.interpretation) == (Scalar::F16, Component::F16) {
            return Ok(x);
        }
        let x = self.interpreted(from, op.input_signed, op.interpretation, x)?;
        match together.factor {
            Scalar::F16 => self.e.round_f32(Scalar::F16, x),
            _ => self.e.zext_trunc(x, 8),
        }
    }

    /// The product with a spread factor.
    pub(super) fn multiply_spread(
        &mut self,
        together: Together,
        product: &Product<'_, 'c>,
        left: &[[V<'c>; QUAD]],
    ) -> Result<Spread<'c>> {
        let (m, (_, s)) = (product.op.m, self.vector(product.op.result)?);
        let lane = self.lane()?;
        let column = self.e.lshr(lane, self.e.i32(2))?;
        let mut rows: [Vec<V<'c>>; QUAD] = Default::default();
        for block in blocks(m, together.in_word) {
            // Two of an instruction's eight columns are of the same thread.
            let thread = self.e.lshr(column, self.e.i32(1))?;
            let of_pair = self.e.and(column, self.e.i32(1))?;
            let row = self.e.add(self.e.mul(thread, self.e.i32(block.own))?, of_pair)?;
            let biases = self.biases(product, block)?;
            let mut turned = match product.matrix.is_turned() {
                true => self.turned_factor(together, product, block)?.into_iter(),
                false => Vec::new().into_iter(),
            };
            let starts = self.starts(together, product, block, row)?;
            let row = self.e.add(row, self.e.i32(block.first))?;
            for pair in 0..block.own / 2 {
                let mut sums = [self.sums(product, &biases, pair)?, self.sums(product, &biases, pair)?];
                let right = match turned.next() {
                    Some(right) => right,
                    None => self.right_factor(together, product, (row, starts.as_deref()), 2 * pair)?,
                };
                for (left, right) in left.as_chunks::<WORDS>().0.iter().zip(right.as_chunks::<WORDS>().0) {
                    for (sums, first) in sums.iter_mut().zip([0, 2]) {
                        let [low, high] = left;
                        let left = [low[first], low[first + 1], high[first], high[first + 1]];
                        *sums = self.multiply(together.product, &left, right, sums)?;
                    }
                }
                for (i, row) in rows.iter_mut().enumerate() {
                    let pair = &sums[i / 2][2 * (i % 2)..][..2];
                    match s {
                        Scalar::F16 => row.push(self.halves(pair[0], pair[1])?),
                        _ => row.extend(pair),
                    }
                }
            }
        }
        Ok(Spread { s, rows })
    }

    /// Where what a thread has of a row of the matrix begins, for each block along K; none where a row of the block is beyond
    /// the last one.
    fn starts(
        &mut self,
        together: Together,
        product: &Product<'_, 'c>,
        block: Block,
        row: V<'c>,
    ) -> Result<Option<Vec<Ptr<'c>>>> {
        if block.first + QUAD as u32 * block.own > product.op.m && !product.matrix.is_padded() {
            return Ok(None);
        }
        let row = self.e.add(row, self.e.i32(block.first))?;
        self.starts_at(together, product, row).map(Some)
    }

    /// The same for a row.
    fn starts_at(
        &mut self,
        together: Together,
        product: &Product<'_, 'c>,
        row: V<'c>,
    ) -> Result<Vec<Ptr<'c>>> {
        let turn = self.number_in_quad()?;
        let row = self.e.zext_trunc(row, 64)?;
        let mut starts = Vec::new();
        for columns in blocks(product.op.k, together.in_word) {
            let first = self.e.mul(turn, self.e.i32(columns.own))?;
            let first = self.e.zext_trunc(first, 64)?;
            starts.push(self.place_in(&product.matrix, row, first)?);
        }
        Ok(starts)
    }

    /// What a thread has of a row of the matrix, so many rows further on: words, step by step along K.
    fn right_factor(
        &mut self,
        together: Together,
        product: &Product<'_, 'c>,
        (row, starts): (V<'c>, Option<&[Ptr<'c>]>),
        further: u32,
    ) -> Result<Vec<V<'c>>> {
        let (op, matrix) = (product.op, &product.matrix);
        let (starts, skipped) = match (starts, matrix.stride()) {
            (Some(starts), Some(stride)) => (starts.to_vec(), stride * u64::from(further)),
            _ => {
                // A row beyond the last one is that one again, and nobody looks at it.
                let row = self.e.add(row, self.e.i32(further))?;
                let row = self.e.map2("llvm.umin", row, self.e.i32(op.m - 1))?;
                (self.starts_at(together, product, row)?, 0)
            }
        };
        let turn = self.number_in_quad()?;
        let bytes = u64::from(matrix.elem.bytes());
        let mut words = Vec::new();
        for (columns, start) in blocks(op.k, together.in_word).into_iter().zip(starts) {
            let pieces = self.pieces(op, columns.own);
            let is_whole = columns.first + QUAD as u32 * columns.own <= op.k || matrix.is_padded();
            let start = self.place(&start)?;
            let mut elements: Vec<V<'c>> = Vec::new();
            for piece in (0..columns.own).step_by(pieces.count as usize) {
                let further = skipped + matrix.along(columns.first) + bytes * u64::from(piece);
                let mut at = self.e.field(start, further)?;
                let mut exists = None;
                if !is_whole {
                    let first = self.e.mul(turn, self.e.i32(columns.own))?;
                    let column = self.e.add(first, self.e.i32(columns.first + piece))?;
                    let is_there = self.e.icmp(IntPredicate::ULT, column, self.e.i32(op.k))?;
                    // The first of the row stands in for one that is not there.
                    let back = self.e.mul(column, self.e.i32(matrix.elem.bytes()))?;
                    let back = self.e.sub(self.e.i64(0), self.e.zext_trunc(back, 64)?)?;
                    let back = self.e.select(is_there, self.e.i64(0), back)?;
                    at = self.e.offset(at.into(), back)?.into_pointer_value();
                    exists = Some(is_there);
                }
                for x in self.factors_at(together, matrix.elem, at, pieces)? {
                    elements.push(match exists {
                        Some(exists) => self.e.select(exists, x, self.e.zero(x.get_type()))?,
                        None => x,
                    });
                }
            }
            // Pieces are of whole words, or of what words are made of.
            match pieces.count.is_multiple_of(together.in_word) {
                true => words.append(&mut elements),
                false => {
                    for elements in elements.chunks(together.in_word as usize) {
                        words.push(self.word(together.factor, elements)?);
                    }
                }
            }
        }
        Ok(words)
    }

    /// What a thread has of the rows of a block, two at a time, where the transpose is in memory: words, step by step along K. It
    /// reads what it would have of that, in which rows are as columns here, and each word is transposed among the threads: the
    /// first of two rows becomes the first half of a word, and so on, as blocks are the same along rows and columns.
    fn turned_factor(
        &mut self,
        together: Together,
        product: &Product<'_, 'c>,
        block: Block,
    ) -> Result<Vec<Vec<V<'c>>>> {
        let (op, matrix) = (product.op, &product.matrix);
        let Some(stride) = matrix.stride() else { return Err(Error::bug("rows of an unknown length")) };
        let (lane, turn) = (self.lane()?, self.number_in_quad()?);
        let [thread, of_pair] = [
            self.e.lshr(lane, self.e.i32(3))?,
            self.e.and(self.e.lshr(lane, self.e.i32(2))?, self.e.i32(1))?,
        ];
        let column = self.e.zext_trunc(self.e.mul(turn, self.e.i32(block.own))?, 64)?;
        let pieces = self.pieces(op, block.own);
        let mut pairs = vec![Vec::new(); block.own as usize / 2];
        for rows in blocks(op.k, together.in_word) {
            let row = self.e.add(self.e.mul(thread, self.e.i32(rows.own))?, of_pair)?;
            let row = self.e.zext_trunc(self.e.add(row, self.e.i32(rows.first))?, 64)?;
            let start = self.place_in(matrix, column, row)?;
            let start = self.place(&start)?;
            for further in (0..rows.own).step_by(2) {
                let at = self.e.field(start, matrix.along(block.first) + stride * u64::from(further))?;
                for (pair, word) in
                    pairs.iter_mut().zip(self.factors_at(together, matrix.elem, at, pieces)?)
                {
                    let text = "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;";
                    let word_ty = self.e.cx.i32_type().into();
                    pair.push(self.assembly(text, &[word_ty], &[word], Memory::None)?[0]);
                }
            }
        }
        Ok(pairs)
    }

    /// A piece of a row: words of factors, or factors where it is less than a word.
    fn factors_at(
        &mut self,
        together: Together,
        elem: Scalar,
        at: PointerValue<'c>,
        pieces: Pieces,
    ) -> Result<Vec<V<'c>>> {
        let (count, flags) = (pieces.count as usize, MemFlags::default());
        let is_words = pieces.count.is_multiple_of(together.in_word);
        if elem == together.factor && is_words {
            return self.read_aligned(
                at,
                Scalar::I32,
                count / together.in_word as usize,
                pieces.align,
                flags,
            );
        }
        let mut factors = Vec::new();
        let elements = self.read_aligned(at, elem, count, pieces.align, flags)?;
        if elem == together.factor {
            return Ok(elements);
        }
        let mut numbers = Vec::new();
        for x in elements {
            numbers.push(self.e.as_f32(elem, x)?);
        }
        match is_words {
            true => {
                for pair in numbers.as_chunks::<2>().0 {
                    factors.push(self.halves(pair[0], pair[1])?);
                }
            }
            false => {
                for x in numbers {
                    factors.push(self.e.round_f32(Scalar::F16, x)?);
                }
            }
        }
        Ok(factors)
    }

    /// The biases of the columns that a thread has of a block, as sums begin with them.
    fn biases(&mut self, product: &Product<'_, 'c>, block: Block) -> Result<Vec<V<'c>>> {
        let Some((component, p)) = product.bias else { return Ok(Vec::new()) };
        let (s, m) = (component.scalar(), product.op.m);
        let pieces = Pieces::of(m, block.own, s);
        let turn = self.number_in_quad()?;
        let first = self.e.add(self.e.mul(turn, self.e.i32(block.own))?, self.e.i32(block.first))?;
        let is_whole = block.first + QUAD as u32 * block.own <= m;
        let mut biases = Vec::new();
        for piece in (0..block.own).step_by(pieces.count as usize) {
            let mut number = self.e.add(first, self.e.i32(piece))?;
            if !is_whole {
                // Nobody looks at what is beyond the last one.
                let exists = self.e.icmp(IntPredicate::ULT, number, self.e.i32(m))?;
                number = self.e.select(exists, number, self.e.i32(0))?;
            }
            let step = self.e.mul(self.e.zext_trunc(number, 64)?, self.e.i64(s.bytes().into()))?;
            let at = self.place(&Ptr { offset: self.e.add(p.offset, step)?, ..p })?;
            for x in self.read_aligned(at, s, pieces.count as usize, pieces.align, MemFlags::default())? {
                let x = self.multiplicand(component, x)?;
                biases.push(match component.is_float() {
                    // No sum is a zero with a sign: what begins without one does not get one.
                    true => self.e.bin(InstructionOpcode::FAdd, x, self.e.zero(x.get_type()))?,
                    false => x,
                });
            }
        }
        Ok(biases)
    }

    /// What the sums of two columns begin with, for both rows of an instruction's.
    fn sums(&mut self, product: &Product<'_, 'c>, biases: &[V<'c>], pair: u32) -> Result<Vec<V<'c>>> {
        let pair = match biases.get(2 * pair as usize..2 * pair as usize + 2) {
            Some(pair) => pair.to_vec(),
            None => vec![self.e.zero(self.number_ty(product.op)); 2],
        };
        Ok([pair.as_slice(), &pair].concat())
    }

    /// Two `f32` as halves in a word, the first in its low bits.
    fn halves(&mut self, low: V<'c>, high: V<'c>) -> Result<V<'c>> {
        let word = self.e.cx.i32_type().into();
        Ok(self.assembly("cvt.rn.f16x2.f32 $0, $1, $2;", &[word], &[high, low], Memory::None)?[0])
    }
}

/// What a thread has of a spread factor, word by word.
fn words_of_rows<'c>(spread: &Spread<'c>) -> Vec<[V<'c>; QUAD]> {
    (0..spread.rows[0].len()).map(|i| [0, 1, 2, 3].map(|row| spread.rows[row][i])).collect()
}
