//! Vectors of a warp, spread over its threads as products of matrices leave them and take them.
//!
//! The four vectors of a quad's threads are four rows of the fragments that `mma.sync` multiplies, and each thread of the quad
//! has a part of the columns of all of them. A result has two columns of each instruction's eight in a thread, a left factor
//! two words of each step along K. Which column of a matrix stands where is free as long as the factors agree, so that it
//! is chosen such that a thread has the same columns of a result as of the next factor, and that they lie side by side: of a
//! *block* of columns each thread has as many as two steps along K take, or one step.
//!
//! ```text
//! columns of a block of halves    0 … 7   8 … 15   16 … 23   24 … 31
//! thread of the quad              0       1        2         3
//! ```

use super::warp::Together;
use crate::coopmat::Memory;
use crate::lower::Lower;
use inkwell::IntPredicate;
use phalanx_emit_llvm::{Result, V};
use phalanx_ir::{BinaryOp, Componentwise, InstInfo, Op, Scalar, UnaryOp, Value, Var};
use std::collections::BTreeMap;

/// Threads of a quad, whose vectors are so many rows.
pub(super) const QUAD: usize = 4;

/// Columns that each thread of a quad has a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The first one.
    pub(super) first: u32,
    /// How many a thread has.
    pub(super) own: u32,
}

/// The blocks of vectors of a length, where a word holds so many factors. The last one may go beyond.
pub(super) fn blocks(length: u32, in_word: u32) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut first = 0;
    while first < length {
        let step = 2 * in_word;
        let own = if length - first > QUAD as u32 * step { 2 * step } else { step };
        blocks.push(Block { first, own });
        first += QUAD as u32 * own;
    }
    blocks
}

/// A vector of each thread.
#[derive(Clone, Debug)]
pub(super) struct Spread<'c> {
    pub(super) s: Scalar,
    /// What the thread has of each row, block by block: components of fewer than 32 bits by words, the first in the lowest
    /// bits.
    pub(super) rows: [Vec<V<'c>>; QUAD],
}

impl Spread<'_> {
    /// Whether components may be of this type.
    pub(super) fn has(s: Scalar) -> bool {
        s != Scalar::Bool && s.bits() <= 32
    }
}

/// Components in a word.
pub(super) fn in_word(s: Scalar) -> usize {
    (32 / s.bits()) as usize
}

impl<'c> Lower<'_, 'c> {
    /// Spreads what each thread has of its own vector.
    pub(super) fn spread_rows(
        &mut self,
        together: Together,
        s: Scalar,
        rows: &[V<'c>],
    ) -> Result<Spread<'c>> {
        let zero = self.e.zero(self.e.scalar_ty(s));
        let turn = self.number_in_quad()?;
        let mut all: [Vec<V<'c>>; QUAD] = Default::default();
        for block in blocks(rows.len() as u32, together.in_word()) {
            for word in 0..block.own as usize / in_word(s) {
                let mut words = [self.e.i32(0); QUAD];
                for (thread, of_thread) in words.iter_mut().enumerate() {
                    let first = block.first as usize + thread * block.own as usize + word * in_word(s);
                    let of = (first..first + in_word(s)).map(|i| rows.get(i).copied().unwrap_or(zero));
                    let of: Vec<V<'c>> = of.collect();
                    let bits = self.word(s, &of)?;
                    *of_thread = self.as_bits(word_scalar(s), bits)?;
                }
                for (row, bits) in all.iter_mut().zip(self.transpose_quad(words, turn)?) {
                    row.push(self.with_bits(word_scalar(s), bits)?);
                }
            }
        }
        Ok(Spread { s, rows: all })
    }

    /// The components of each thread's own vector.
    pub(super) fn bring_back(
        &mut self,
        together: Together,
        spread: &Spread<'c>,
        length: u32,
    ) -> Result<Vec<V<'c>>> {
        let (s, turn) = (spread.s, self.number_in_quad()?);
        let mut all = Vec::new();
        let mut first = 0;
        for block in blocks(length, together.in_word()) {
            let count = block.own as usize / in_word(s);
            let mut of_threads: [Vec<V<'c>>; QUAD] = Default::default();
            for i in first..first + count {
                let mut words = [self.e.i32(0); QUAD];
                for (word, row) in words.iter_mut().zip(&spread.rows) {
                    *word = self.as_bits(word_scalar(s), row[i])?;
                }
                for (of_thread, bits) in of_threads.iter_mut().zip(self.transpose_quad(words, turn)?) {
                    let word = self.with_bits(word_scalar(s), bits)?;
                    for i in 0..in_word(s) as u32 {
                        of_thread.push(self.element_of_word(s, word, i)?);
                    }
                }
            }
            all.extend(of_threads.into_iter().flatten());
            first += count;
        }
        all.truncate(length as usize);
        Ok(all)
    }

    /// Does what a loop does to components.
    pub(super) fn each_spread(
        &mut self,
        together: Together,
        found: &Componentwise<'_>,
        spread: &mut BTreeMap<Var, Spread<'c>>,
    ) -> Result<()> {
        let f = self.f;
        let are_halves = found.insts.iter().all(|&inst| is_of_halves(f.inst(inst), |v| f.ty(v).scalar()));
        let components: u32 = blocks(found.length, together.in_word()).iter().map(|block| block.own).sum();
        let mut made: BTreeMap<Var, [Vec<V<'c>>; QUAD]> = BTreeMap::new();
        for row in 0..QUAD {
            for i in (0..components as usize).step_by(if are_halves { 2 } else { 1 }) {
                let stored = match are_halves {
                    true => self.on_halves(found, spread, (row, i))?,
                    false => self.on_component(found, spread, (row, i))?,
                };
                for (var, x) in stored {
                    made.entry(var).or_default()[row].push(x);
                }
            }
        }
        for (var, rows) in made {
            let (_, s) = self.vector(var)?;
            let mut words: [Vec<V<'c>>; QUAD] = Default::default();
            for (words, row) in words.iter_mut().zip(rows) {
                *words = match are_halves {
                    true => row,
                    false => {
                        let of = row.chunks(in_word(s));
                        of.map(|elements| self.word(s, elements)).collect::<Result<_>>()?
                    }
                };
            }
            spread.insert(var, Spread { s, rows: words });
        }
        Ok(())
    }

    /// What a loop stores for a component of a row.
    fn on_component(
        &mut self,
        found: &Componentwise<'_>,
        spread: &BTreeMap<Var, Spread<'c>>,
        (row, i): (usize, usize),
    ) -> Result<BTreeMap<Var, V<'c>>> {
        let f = self.f;
        let mut stored = BTreeMap::new();
        for &inst in found.insts {
            let info = f.inst(inst);
            match info.op {
                Op::VarLoad(var) => {
                    let x = match stored.get(&var) {
                        Some(&x) => x,
                        None => {
                            let Spread { s, ref rows } = spread[&var];
                            self.element_of_word(s, rows[row][i / in_word(s)], (i % in_word(s)) as u32)?
                        }
                    };
                    self.set(inst, x);
                }
                Op::VarStore(var) => {
                    stored.insert(var, self.scalar(info.args[1])?);
                }
                _ => {
                    self.inst(inst)?;
                }
            }
        }
        Ok(stored)
    }

    /// What a loop stores for a component of a row and the next one, in a word.
    fn on_halves(
        &mut self,
        found: &Componentwise<'_>,
        spread: &BTreeMap<Var, Spread<'c>>,
        (row, i): (usize, usize),
    ) -> Result<BTreeMap<Var, V<'c>>> {
        let f = self.f;
        let (mut stored, mut pairs) = (BTreeMap::new(), BTreeMap::new());
        for &inst in found.insts {
            let info = f.inst(inst);
            match info.op {
                Op::VarLoad(var) => {
                    let x = stored.get(&var).copied().unwrap_or_else(|| spread[&var].rows[row][i / 2]);
                    pairs.insert(info.results[0], x);
                }
                Op::VarStore(var) => {
                    stored.insert(var, self.pair_of(&pairs, info.args[1])?);
                }
                _ => {
                    let args = info.args.iter().map(|&v| self.pair_of(&pairs, v));
                    let args = args.collect::<Result<Vec<_>>>()?;
                    pairs.insert(info.results[0], self.operation_on_halves(info, &args)?);
                }
            }
        }
        Ok(stored)
    }

    /// Two halves in a word: a component's, or twice a number that all components have.
    fn pair_of(&mut self, pairs: &BTreeMap<Value, V<'c>>, v: Value) -> Result<V<'c>> {
        match pairs.get(&v) {
            Some(&pair) => Ok(pair),
            None => {
                let x = self.scalar(v)?;
                self.word(Scalar::F16, &[x, x])
            }
        }
    }

    /// An operation on two halves at once.
    fn operation_on_halves(&mut self, info: &InstInfo, args: &[V<'c>]) -> Result<V<'c>> {
        let text = match info.op {
            // The bits of a NaN stay.
            Op::Unary(UnaryOp::Fneg) => "xor.b32 $0, $1, 0x80008000;",
            Op::Unary(UnaryOp::Fabs) => "and.b32 $0, $1, 0x7fff7fff;",
            Op::Binary(BinaryOp::Fadd) => "add.rn.f16x2 $0, $1, $2;",
            Op::Binary(BinaryOp::Fsub) => "sub.rn.f16x2 $0, $1, $2;",
            Op::Binary(BinaryOp::Fmul) => "mul.rn.f16x2 $0, $1, $2;",
            Op::Binary(BinaryOp::Fmin) => "min.f16x2 $0, $1, $2;",
            Op::Binary(BinaryOp::Fmax) => "max.f16x2 $0, $1, $2;",
            _ => "fma.rn.f16x2 $0, $1, $2, $3;",
        };
        Ok(self.assembly(text, &[self.e.cx.i32_type().into()], args, Memory::None)?[0])
    }

    /// The number of a thread in its quad.
    pub(super) fn number_in_quad(&mut self) -> Result<V<'c>> {
        let lane = self.lane()?;
        self.e.and(lane, self.e.i32(QUAD as u32 - 1))
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

/// What the words of components are in LLVM: the scalar, or an `i32`.
fn word_scalar(s: Scalar) -> Scalar {
    if s.bits() < 32 { Scalar::I32 } else { s }
}

/// Whether an instruction on components is one of those that work on two halves at once.
fn is_of_halves(info: &InstInfo, ty: impl Fn(Value) -> Option<Scalar>) -> bool {
    let operands = match info.op {
        Op::VarLoad(_) => &info.results[..],
        Op::VarStore(_) => &info.args[1..],
        Op::Fma
        | Op::Unary(UnaryOp::Fneg | UnaryOp::Fabs)
        | Op::Binary(BinaryOp::Fadd | BinaryOp::Fsub | BinaryOp::Fmul | BinaryOp::Fmin | BinaryOp::Fmax) => {
            &info.args[..]
        }
        _ => return false,
    };
    operands.iter().all(|&v| ty(v) == Some(Scalar::F16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_of_two_steps_but_for_a_rest_that_one_holds() {
        let block = |first, own| Block { first, own };
        assert_eq!(blocks(64, 2), [block(0, 8), block(32, 8)]);
        assert_eq!(blocks(40, 2), [block(0, 8), block(32, 4)]);
        assert_eq!(blocks(17, 2), [block(0, 8)]);
        assert_eq!(blocks(6, 2), [block(0, 4)]);
        assert_eq!(blocks(100, 4), [block(0, 16), block(64, 16)]);
        assert_eq!(blocks(96, 4), [block(0, 16), block(64, 8)]);
    }
}
