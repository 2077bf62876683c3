//! The products of one matrix and the vectors of a warp, as products of matrices.
//!
//! Where all threads of a warp come together and share the matrix, their vectors are the 32 rows of a left factor, and the
//! matrix in memory is the right one. `mma.sync` wants a row spread over four threads (a *quad*); the rows of a quad are the
//! vectors of its own threads, so that a row comes there, and its results come back, by exchanges within quads
//! ([`Lower::transpose_quad`]). The order along K is free as long as both factors have the same: a thread has neighbours,
//! which it loads from the matrix at once.

use super::multiply::Product;
use crate::coopmat::fragment::{self, Memory};
use crate::lower::{Lower, Ptr};
use inkwell::IntPredicate;
use inkwell::values::InstructionOpcode;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::{Component, Inst, MemFlags, Scalar, Space, VecMatMul};

/// Most rows and columns of a matrix: sums and factors have to stay in registers.
const MOST: u32 = 128;

/// Threads of a quad, and what each has of a step along K: two words of a row.
const QUAD: usize = 4;
const WORDS: usize = 2;

/// Results that an instruction gives of each row.
const COLUMNS: u32 = 8;

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

    /// Elements that a thread has of a step along K, which lie side by side.
    fn own(self) -> u32 {
        WORDS as u32 * self.in_word
    }

    /// Elements of a step along K.
    fn step(self) -> u32 {
        QUAD as u32 * self.own()
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
        let has_rows = [0, 1].iter().all(|&stride| op.steps(stride).0 == element);
        let fits = op.m <= MOST && op.k <= MOST && op.k.is_multiple_of(together.own());
        (is_shared && has_rows && fits && !op.packed).then_some(together)
    }

    /// Whether all threads of the warp are here, and what they share is inside and aligned.
    pub(super) fn are_together(&mut self, together: Together, product: &Product<'_, 'c>) -> Result<V<'c>> {
        let word = self.e.cx.i32_type().into();
        // Nothing may move across it, as that would be where others are.
        let here = self.assembly("activemask.b32 $0;", &[word], &[], Memory::Write)?[0];
        let all = self.e.icmp(IntPredicate::EQ, here, self.e.i32(u32::MAX))?;
        let piece = u64::from(together.own() * product.matrix.elem.bytes());
        let matrix = self.is_inside_and_aligned(&product.matrix, piece)?;
        let mut holds = self.e.and(all, matrix)?;
        if let Some((component, p)) = product.bias {
            let bytes = u64::from(component.scalar().bytes());
            let bias = self.is_span_inside(&p, u64::from(product.op.m) * bytes, bytes)?;
            holds = self.e.and(holds, bias)?;
        }
        Ok(holds)
    }

    fn is_span_inside(&mut self, p: &Ptr<'c>, bytes: u64, align: u64) -> Result<V<'c>> {
        let address = self.address(p)?;
        let low = self.e.and(address, self.e.i64(align as i64 - 1))?;
        let is_aligned = self.e.icmp(IntPredicate::EQ, low, self.e.i64(0))?;
        if p.space == Space::Global {
            return Ok(is_aligned);
        }
        let end = self.e.map2("llvm.usub.sat", p.size, self.e.i64(bytes as i64 - 1))?;
        let is_inside = self.e.icmp(IntPredicate::ULT, p.offset, end)?;
        self.e.and(is_inside, is_aligned)
    }

    /// The results of a thread's vector, of which these are the numbers that are multiplied.
    pub(super) fn multiply_together(
        &mut self,
        together: Together,
        product: &Product<'_, 'c>,
        numbers: &[V<'c>],
    ) -> Result<Vec<V<'c>>> {
        let (m, result) = (product.op.m, product.result.1);
        let lane = self.lane()?;
        let turn = self.e.and(lane, self.e.i32(3))?;
        let column = self.e.lshr(lane, self.e.i32(2))?;
        let left = self.left_factor(together, numbers, turn)?;
        let mut results = Vec::new();
        for first in (0..m).step_by(COLUMNS as usize) {
            let mut sums = [self.sums_at(product, first, turn)?, self.sums_at(product, first, turn)?];
            // A column beyond the last one is that one again, and nobody looks at it.
            let row = self.e.add(column, self.e.i32(first))?;
            let row = self.e.map2("llvm.umin", row, self.e.i32(m - 1))?;
            for (step, left) in left.iter().enumerate() {
                let right = self.right_factor(together, product, row, step as u32, turn)?;
                for (sums, left) in sums.iter_mut().zip(left) {
                    *sums = self.multiply(together.product, left, &right, sums)?;
                }
            }
            // Of each of the four vectors of a quad, two results.
            let pairs: Vec<[V<'c>; 2]> =
                sums.iter().flatten().copied().collect::<Vec<_>>().as_chunks::<2>().0.to_vec();
            results.extend(self.bring_back(result, &pairs, turn)?);
        }
        results.truncate(m as usize);
        Ok(results)
    }

    /// For each step along K the words of two fragments, each of 16 vectors.
    fn left_factor(
        &mut self,
        together: Together,
        numbers: &[V<'c>],
        turn: V<'c>,
    ) -> Result<Vec<[Vec<V<'c>>; 2]>> {
        let mut words = Vec::new();
        for numbers in numbers.chunks(together.in_word as usize) {
            let mut elements = Vec::new();
            for &x in numbers {
                elements.push(match together.factor {
                    Scalar::F16 => self.e.round_f32(Scalar::F16, x)?,
                    _ => self.e.zext_trunc(x, 8)?,
                });
            }
            words.push(self.word(together.factor, &elements)?);
        }
        let of_step = QUAD * WORDS;
        words.resize(words.len().next_multiple_of(of_step), self.e.i32(0));
        let mut steps = Vec::new();
        for words in words.chunks(of_step) {
            let [low, high] = [0, 1].map(|i| [words[i], words[2 + i], words[4 + i], words[6 + i]]);
            let (low, high) = (self.transpose_quad(low, turn)?, self.transpose_quad(high, turn)?);
            let of = |i: usize| vec![low[2 * i], low[2 * i + 1], high[2 * i], high[2 * i + 1]];
            steps.push([of(0), of(1)]);
        }
        Ok(steps)
    }

    /// What a thread has of a row of the matrix in a step along K: two words.
    fn right_factor(
        &mut self,
        together: Together,
        product: &Product<'_, 'c>,
        row: V<'c>,
        step: u32,
        turn: V<'c>,
    ) -> Result<Vec<V<'c>>> {
        let (k, own, first) = (product.op.k, together.own(), step * together.step());
        let mut at = self.e.mul(turn, self.e.i32(own))?;
        let mut exists = None;
        if k < first + together.step() {
            let rest = self.e.i32(k - first);
            let is_inside = self.e.icmp(IntPredicate::ULT, at, rest)?;
            at = self.e.select(is_inside, at, self.e.i32(0))?;
            exists = Some(is_inside);
        }
        let at = self.e.add(at, self.e.i32(first))?;
        let (row, at) = (self.e.zext_trunc(row, 64)?, self.e.zext_trunc(at, 64)?);
        let p = self.place_in(&product.matrix, row, at)?;
        let elem = product.matrix.elem;
        let piece = u64::from(own * elem.bytes());
        let elements = self.read(&p, elem, own as usize, piece, MemFlags::default())?;
        let mut words = Vec::new();
        for elements in elements.chunks(together.in_word as usize) {
            let word = match elem == together.factor {
                true => self.word(elem, elements)?,
                false => {
                    let [x, y] = [self.e.as_f32(elem, elements[0])?, self.e.as_f32(elem, elements[1])?];
                    self.halves(x, y)?
                }
            };
            words.push(match exists {
                Some(exists) => self.e.select(exists, word, self.e.i32(0))?,
                None => word,
            });
        }
        Ok(words)
    }

    /// What a thread's sums of eight results begin with: the bias of two of them, for both rows.
    fn sums_at(&mut self, product: &Product<'_, 'c>, first: u32, turn: V<'c>) -> Result<Vec<V<'c>>> {
        let Some((component, p)) = product.bias else {
            return Ok(vec![self.e.zero(product.input.1); 4]);
        };
        let (s, most) = (component.scalar(), product.op.m - 1);
        let mut pair = Vec::new();
        for i in 0..2 {
            let number = self.e.add(self.e.shl(turn, self.e.i32(1))?, self.e.i32(first + i))?;
            let number = self.e.map2("llvm.umin", number, self.e.i32(most))?;
            let step = self.e.mul(self.e.zext_trunc(number, 64)?, self.e.i64(s.bytes().into()))?;
            let p = Ptr { offset: self.e.add(p.offset, step)?, ..p };
            let x = self.scalar_at(&p, s, true)?;
            let x = self.multiplicand(component, x)?;
            pair.push(match component.is_float() {
                // No sum is a zero with a sign: what begins without one does not get one.
                true => self.e.bin(InstructionOpcode::FAdd, x, self.e.zero(x.get_type()))?,
                false => x,
            });
        }
        Ok([pair.as_slice(), &pair].concat())
    }

    /// Eight results of a thread's own vector, of which the threads of a quad have two each, for four vectors.
    fn bring_back(&mut self, s: Scalar, pairs: &[[V<'c>; 2]], turn: V<'c>) -> Result<Vec<V<'c>>> {
        let sums: Vec<V<'c>> = pairs.iter().flatten().copied().collect();
        let mut results = Vec::new();
        if s == Scalar::F16 {
            let mut words = Vec::new();
            for pair in sums.as_chunks::<2>().0 {
                words.push(self.halves(pair[0], pair[1])?);
            }
            for word in self.transpose_quad([words[0], words[1], words[2], words[3]], turn)? {
                for i in 0..2 {
                    results.push(self.element_of_word(s, word, i)?);
                }
            }
            return Ok(results);
        }
        let mut bits = Vec::new();
        for &x in &sums {
            bits.push(self.as_bits(s, x)?);
        }
        let of = |i: usize| [bits[i], bits[2 + i], bits[4 + i], bits[6 + i]];
        let (even, odd) = (self.transpose_quad(of(0), turn)?, self.transpose_quad(of(1), turn)?);
        for (even, odd) in even.into_iter().zip(odd) {
            results.push(self.with_bits(s, even)?);
            results.push(self.with_bits(s, odd)?);
        }
        Ok(results)
    }

    /// Two `f32` as halves in a word, the first in its low bits.
    fn halves(&mut self, low: V<'c>, high: V<'c>) -> Result<V<'c>> {
        let word = self.e.cx.i32_type().into();
        Ok(self.assembly("cvt.rn.f16x2.f32 $0, $1, $2;", &[word], &[high, low], Memory::None)?[0])
    }

    /// Of four words of each thread of a quad: number `i` of thread `j` becomes number `j` of thread `i`.
    fn transpose_quad(&mut self, mut words: [V<'c>; QUAD], turn: V<'c>) -> Result<[V<'c>; QUAD]> {
        for (bit, pairs) in [(1, [(0, 1), (2, 3)]), (2, [(0, 2), (1, 3)])] {
            let own = self.e.and(turn, self.e.i32(bit))?;
            let is_second = self.e.icmp(IntPredicate::NE, own, self.e.i32(0))?;
            for (i, j) in pairs {
                let given = self.e.select(is_second, words[i], words[j])?;
                let args = [self.e.i32(u32::MAX), given, self.e.i32(bit), self.e.i32(31)];
                let got = self.e.intrinsic("llvm.nvvm.shfl.sync.bfly.i32", &[], &args)?;
                words[i] = self.e.select(is_second, got, words[i])?;
                words[j] = self.e.select(is_second, words[j], got)?;
            }
        }
        Ok(words)
    }
}
