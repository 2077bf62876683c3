//! Multiply-adds: which way each is done.
//!
//! Both factors lie along K in the same way, so in which order K is gone through does not matter as long as it is the same
//! for both: bytes are widened to halves within a lane.

use super::Mat;
use super::fragment::{Memory, Product};
use super::layout::Kind;
use crate::lower::Lower;
use inkwell::IntPredicate;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{ConvertKind, ConvertOp, Inst, MulAddFlags, Scalar};

/// The layout of sums.
pub(super) const SUMS: Kind = Kind::Fragments { by_cols: false, width: 2 };

/// What is multiplied, and what becomes of it.
#[derive(Clone, Debug)]
pub(super) struct MulAdd<'c> {
    pub(super) a: Mat<'c>,
    pub(super) b: Mat<'c>,
    pub(super) c: Mat<'c>,
    pub(super) result: Scalar,
    pub(super) flags: MulAddFlags,
}

impl MulAdd<'_> {
    /// The instruction for it, if there is one.
    fn product(&self) -> Option<Product> {
        let (a, b, c) = (self.a.elem, self.b.elem, self.c.elem);
        let narrow = |s: Scalar| s.is_float() && s.bits() <= 32;
        let is_byte = |s| matches!(s, Scalar::E4M3 | Scalar::E5M2);
        match (a, b) {
            (Scalar::F16, Scalar::F16) if (c, self.result) == (Scalar::F16, Scalar::F16) => {
                Some(Product::HalfToHalf)
            }
            (Scalar::F16, Scalar::F16) if narrow(c) && narrow(self.result) => Some(Product::Half),
            (a, b) if is_byte(a) && is_byte(b) && narrow(c) && narrow(self.result) => Some(Product::Half),
            (Scalar::BF16, Scalar::BF16) if narrow(c) && narrow(self.result) => Some(Product::BHalf),
            (Scalar::F64, Scalar::F64) if (c, self.result) == (Scalar::F64, Scalar::F64) => {
                Some(Product::Double)
            }
            (Scalar::I8, Scalar::I8) if self.result.is_int() => {
                Some(Product::Bytes { a_signed: self.flags.a_signed, b_signed: self.flags.b_signed })
            }
            _ => None,
        }
    }
}

impl<'c> Lower<'_, 'c> {
    pub(super) fn mat_mul_add(&mut self, inst: Inst, flags: MulAddFlags) -> Result<()> {
        if flags.step > 0 {
            return Err(Error::unsupported("multiply-adds that round their sums in steps"));
        }
        let info = self.f.inst(inst);
        let to = self.mat_ty(info.results[0])?;
        let factor = |s: Scalar, by_cols| {
            let width = 32_u32.checked_div(s.bits()).unwrap_or(1).max(1);
            Kind::Fragments { by_cols, width }
        };
        let [x, y, z] = [info.args[0], info.args[1], info.args[2]];
        let a = self.mat_in(x, factor(self.mat_ty(x)?.elem, false))?;
        let b = self.mat_in(y, factor(self.mat_ty(y)?.elem, true))?;
        let c = self.mat_in(z, SUMS)?;
        let m = MulAdd { a, b, c, result: to.elem, flags };
        let sums = match m.product() {
            Some(product @ Product::Bytes { .. }) => self.multiply_bytes(&m, product)?,
            Some(product) => self.multiply_floats(&m, product)?,
            None => self.multiply_generally(&m)?,
        };
        let layout = self.share_of(to).layout;
        let result = self.regroup(&sums, layout, false)?;
        self.set_mat(inst, result)
    }

    /// Elements as another type of float.
    fn as_floats(&mut self, m: &Mat<'c>, to: Scalar) -> Result<Mat<'c>> {
        if m.elem == to {
            return Ok(m.clone());
        }
        let mut elements = self.elements(m)?;
        for x in &mut elements {
            *x = self.e.convert(ConvertOp::new(ConvertKind::FToF), m.elem, to, *x)?;
        }
        self.pack_elements(m.layout, to, &elements)
    }

    fn multiply_floats(&mut self, m: &MulAdd<'c>, product: Product) -> Result<Mat<'c>> {
        let (a, b) = (self.factor(&m.a)?, self.factor(&m.b)?);
        let mut c = self.as_floats(&m.c, product.sum())?;
        c.words = self.products(product, &a, &b, &c)?.into();
        self.as_floats(&c, m.result)
    }

    /// The words of a factor, with zeros for padding along K; those of bytes that are floats as halves.
    pub(super) fn factor(&mut self, m: &Mat<'c>) -> Result<Vec<V<'c>>> {
        let mut words = m.words.to_vec();
        let (_, k) = m.layout.lines();
        let (width, steps) = (m.layout.width(), m.layout.steps());
        let in_step = 4 * width;
        if !k.is_multiple_of(in_step) {
            // How many of a lane's elements are there, in the last step.
            let lane = self.lane()?;
            let turn = self.e.and(lane, self.e.i32(3))?;
            let rest = k % in_step;
            let bits = m.elem.bits();
            let masks = (0..4).map(|turn| {
                let held = rest.saturating_sub(turn * width).min(width);
                ((1_u128 << (held * bits)) - 1) as u64
            });
            let ty = self.e.int_ty(bits.max(32));
            let mut mask: V<'c> = ty.const_zero().into();
            for (of_turn, i) in masks.zip(0..) {
                let is_it = self.e.icmp(IntPredicate::EQ, turn, self.e.i32(i))?;
                mask = self.e.select(is_it, ty.const_int(of_turn, false).into(), mask)?;
            }
            for word in words.iter_mut().skip(steps as usize - 1).step_by(steps as usize) {
                let whole = word.get_type();
                let bits = self.e.bitcast(*word, ty.into())?;
                let kept = self.e.and(bits, mask)?;
                *word = self.e.bitcast(kept, whole)?;
            }
        }
        if !matches!(m.elem, Scalar::E4M3 | Scalar::E5M2) {
            return Ok(words);
        }
        let mut halves = Vec::new();
        for word in words {
            halves.extend(self.widen_bytes(m.elem, word)?);
        }
        Ok(halves)
    }

    /// Four floats of 8 bits as two words of halves, exactly.
    fn widen_bytes(&mut self, elem: Scalar, word: V<'c>) -> Result<[V<'c>; 2]> {
        if self.arch.converts_bytes() {
            let text = format!("cvt.rn.f16x2.{elem}x2 $0, $1;");
            let high = self.e.lshr(word, self.e.i32(16))?;
            let word_ty = self.e.cx.i32_type().into();
            let mut halves = [word, high];
            for half in &mut halves {
                let bytes = self.e.zext_trunc(*half, 16)?;
                *half = self.assembly(&text, &[word_ty], &[bytes], Memory::None)?[0];
            }
            return Ok(halves);
        }
        let mut halves = Vec::new();
        for i in 0..4 {
            let byte = self.element_of_word(elem, word, i)?;
            halves.push(self.e.convert(ConvertOp::new(ConvertKind::FToF), elem, Scalar::F16, byte)?);
        }
        Ok([self.word(Scalar::F16, &halves[..2])?, self.word(Scalar::F16, &halves[2..])?])
    }

    /// Adds the products of all fragments to the sums.
    pub(super) fn products(
        &mut self,
        product: Product,
        a: &[V<'c>],
        b: &[V<'c>],
        c: &Mat<'c>,
    ) -> Result<Vec<V<'c>>> {
        let (rows, cols) = (c.layout.line_blocks() as usize, c.layout.steps() as usize);
        let (steps, mut sums) = (a.len() / rows, c.words.to_vec());
        let in_block = sums.len() / (rows * cols);
        let (high, deep) = product.shape();
        let none = self.e.zero(a[0].get_type());
        let no_sum = self.e.zero(sums[0].get_type());
        for step in (0..steps).step_by(deep) {
            for row in (0..rows).step_by(high) {
                let at = |row: usize, step: usize| match row < rows && step < steps {
                    true => a[row * steps + step],
                    false => none,
                };
                let left: Vec<V<'c>> = (0..deep)
                    .flat_map(|s| (0..high).map(move |r| (row + r, step + s)))
                    .map(|(row, step)| at(row, step))
                    .collect();
                for col in 0..cols {
                    let right: Vec<V<'c>> = (step..step + deep)
                        .map(|s| if s < steps { b[col * steps + s] } else { none })
                        .collect();
                    let places: Vec<usize> = (row..row + high)
                        .flat_map(|row| (0..in_block).map(move |i| (row * cols + col) * in_block + i))
                        .collect();
                    let addend: Vec<V<'c>> =
                        places.iter().map(|&i| sums.get(i).copied().unwrap_or(no_sum)).collect();
                    let result = self.multiply(product, &left, &right, &addend)?;
                    for (&place, sum) in places.iter().zip(result) {
                        if let Some(old) = sums.get_mut(place) {
                            *old = sum;
                        }
                    }
                }
            }
        }
        Ok(sums)
    }
}
