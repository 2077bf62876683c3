//! Multiply-adds for which there is no instruction: of `f32`, of integers of 16 bits and more, of mixed types.
//!
//! For each place along K a lane takes from others the elements of its lines of A and of its columns of B.

use super::Mat;
use super::mma::MulAdd;
use crate::lower::Lower;
use inkwell::values::InstructionOpcode as I;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{ConvertKind, ConvertOp, Scalar};

/// What numbers are computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Float(Scalar),
    /// Integers of so many bits.
    Int(u32),
}

impl MulAdd<'_> {
    /// The least that every product and sum is exact in, or as fine as it has to be.
    fn number(&self) -> Result<Number> {
        let all = [self.a.elem, self.b.elem, self.c.elem, self.result];
        if self.result.is_float() {
            let fits = |s: &Scalar| if s.is_float() { s.bits() <= 32 } else { s.bits() <= 16 };
            let s = if all.iter().all(fits) { Scalar::F32 } else { Scalar::F64 };
            return Ok(Number::Float(s));
        }
        if all.iter().any(|s| s.is_float()) {
            return Err(Error::unsupported("integer sums of products of floats"));
        }
        let widest = self.a.elem.bits().max(self.b.elem.bits());
        Ok(Number::Int(match (self.flags.saturate, self.result.bits()) {
            (false, bits) => bits.max(32),
            (true, _) if widest <= 16 && self.c.elem.bits() <= 32 && self.result.bits() <= 32 => 64,
            (true, _) if widest <= 32 => 128,
            (true, _) => return Err(Error::unsupported("saturating sums of products of 64 bits")),
        }))
    }
}

impl<'c> Lower<'_, 'c> {
    pub(super) fn multiply_generally(&mut self, m: &MulAdd<'c>) -> Result<Mat<'c>> {
        let number = m.number()?;
        let addends = self.elements(&m.c)?;
        let mut sums = Vec::new();
        for x in addends {
            sums.push(self.as_number(number, m.c.elem, m.flags.c_signed, x)?);
        }
        let (rows, cols) = (m.c.layout.line_blocks(), m.c.layout.steps());
        let lane = self.lane()?;
        let group = self.e.and(lane, self.e.i32(!3))?;
        let turn = self.e.and(lane, self.e.i32(3))?;
        let column = self.e.mul(turn, self.e.i32(8))?;
        let (_, k) = m.a.layout.lines();
        for k in 0..k {
            let mut left = Vec::new();
            for row in 0..rows {
                let x = self.along(&m.a, row, k, group)?;
                left.push(self.as_number(number, m.a.elem, m.flags.a_signed, x)?);
            }
            let mut right = Vec::new();
            for col in 0..2 * cols {
                let of_column = self.e.add(column, self.e.i32(col % 2 * 4))?;
                let y = self.along(&m.b, col / 2, k, of_column)?;
                right.push(self.as_number(number, m.b.elem, m.flags.b_signed, y)?);
            }
            for (i, sum) in sums.iter_mut().enumerate() {
                let (x, y) = (left[i / right.len()], right[i % right.len()]);
                *sum = match number {
                    Number::Float(s) => self.e.fma(s, x, y, *sum)?,
                    Number::Int(_) => {
                        let product = self.e.bin(I::Mul, x, y)?;
                        self.e.add(product, *sum)?
                    }
                };
            }
        }
        let mut results = Vec::new();
        for sum in sums {
            results.push(match number {
                Number::Float(s) => self.e.convert(ConvertOp::new(ConvertKind::FToF), s, m.result, sum)?,
                Number::Int(_) => self.finish(m, sum)?,
            });
        }
        self.pack_elements(m.c.layout, m.result, &results)
    }

    /// Element `k` of a line of a factor: of that in a block of lines whose group of lanes begins with a lane.
    fn along(&mut self, m: &Mat<'c>, block: u32, k: u32, group: V<'c>) -> Result<V<'c>> {
        let (width, pack) = (m.layout.width(), m.layout.pack(m.elem));
        let (step, turn, j) = (k / (4 * width), k / width % 4, k % width);
        let register = (block * m.layout.steps() + step) * width + j;
        let lane = self.e.or(group, self.e.i32(turn))?;
        let word = self.word_of_lane(m, m.words[(register / pack) as usize], lane)?;
        self.element_of_word(m.elem, word, register % pack)
    }

    fn as_number(&mut self, number: Number, from: Scalar, signed: bool, x: V<'c>) -> Result<V<'c>> {
        match number {
            Number::Int(bits) => self.extend(x, signed, bits),
            Number::Float(to) => {
                let kind = match (from.is_float(), signed) {
                    (true, _) => ConvertKind::FToF,
                    (false, true) => ConvertKind::SToF,
                    (false, false) => ConvertKind::UToF,
                };
                self.e.convert(ConvertOp::new(kind), from, to, x)
            }
        }
    }
}
