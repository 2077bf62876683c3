//! The product of a matrix and a vector.
//!
//! By itself a thread sums some rows at a time, so that an element of the vector serves all of them. The vector is first made
//! into the numbers that are multiplied, in memory of the invocation: the result may replace it.

use super::{Matrix, Places};
use crate::lower::{Lower, Ptr};
use inkwell::types::BasicTypeEnum;
use inkwell::values::PointerValue;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Component, ConvertKind, ConvertOp, Inst, Scalar, VecMatMul};

/// Rows that are summed at a time.
const ROWS: u32 = 8;

/// The numbers of a vector in memory, and their type.
type Numbers<'c> = (PointerValue<'c>, BasicTypeEnum<'c>);

/// The product that is made.
#[derive(Clone, Copy)]
pub(super) struct Product<'a, 'c> {
    pub(super) op: &'a VecMatMul,
    pub(super) matrix: Matrix<'c>,
    pub(super) bias: Option<(Component, Ptr<'c>)>,
}

impl<'c> Lower<'_, 'c> {
    /// A product that is part of no chain (`chain`).
    pub(crate) fn lower_vec_mat_mul(&mut self, inst: Inst, op: &VecMatMul) -> Result<()> {
        let product = self.product(inst, op)?;
        self.multiply_alone(&product)
    }

    pub(super) fn product<'b>(&mut self, inst: Inst, op: &'b VecMatMul) -> Result<Product<'b, 'c>> {
        let f = self.f;
        let args = &f.inst(inst).args;
        let stride = self.scalar(args[1])?;
        let places = match op.steps(0).zip(op.steps(1)) {
            Some((steps, others)) => self.lines(steps, others, stride),
            None => {
                let (rows, columns) = op.stored_shape();
                let bytes = op.layout.bytes(op.matrix, rows, columns, 0);
                Places::Paired {
                    stride: op.layout.stride(op.matrix, columns, 0),
                    bytes: bytes.ok_or_else(|| Error::unsupported("matrices of so many rows and columns"))?,
                    transposed: op.transposed,
                }
            }
        };
        let matrix = self.matrix(args[0], op.layout.kept(op.matrix), [op.m, op.k], places)?;
        let bias = match op.bias {
            Some(component) => Some((component, self.ptr(args[2])?)),
            None => None,
        };
        Ok(Product { op, matrix, bias })
    }

    /// Where an element of a vector is.
    pub(super) fn entry_of(
        &self,
        vector: PointerValue<'c>,
        s: Scalar,
        number: u32,
    ) -> Result<PointerValue<'c>> {
        self.e.field(vector, u64::from(number) * u64::from(s.bytes()))
    }

    /// The product for each thread by itself.
    fn multiply_alone(&mut self, product: &Product<'_, 'c>) -> Result<()> {
        let numbers = self.numbers(product.op)?;
        let is_whole = self.is_inside_and_aligned(&product.matrix, product.matrix.elem.bytes().into())?;
        let multiply =
            |is_whole| move |l: &mut Self| l.multiply_vector(product, numbers, is_whole).map(|()| Vec::new());
        let (all, each) = (multiply(true), multiply(false));
        self.either(is_whole, all, each).map(|_nothing| ())
    }

    /// The type in which is multiplied and summed: `f32`, or `i32` that wrap.
    pub(super) fn number_ty(&self, op: &VecMatMul) -> BasicTypeEnum<'c> {
        match op.interpretation.is_float() {
            true => self.e.cx.f32_type().into(),
            false => self.e.cx.i32_type().into(),
        }
    }

    /// The vector as numbers to multiply.
    fn numbers(&mut self, op: &VecMatMul) -> Result<Numbers<'c>> {
        let number = self.number_ty(op);
        let numbers = self.reserve(self.array_ty(number, op.k))?;
        let (input, from) = self.vector(op.input)?;
        self.repeat(op.k, &[], |l, i, _| {
            let x = if op.packed {
                let at = l.e.element_ptr(l.e.scalar_ty(from), input.into(), l.e.lshr(i, l.e.i64(2))?)?;
                let word = l.e.load(l.e.scalar_ty(from), at.into_pointer_value(), from.bytes())?;
                let shift = l.e.shl(l.e.and(i, l.e.i64(3))?, l.e.i64(3))?;
                let byte = l.e.lshr(word, l.e.zext_trunc(shift, 32)?)?;
                l.multiplicand(op.interpretation, l.e.zext_trunc(byte, 8)?)?
            } else {
                let at = l.e.element_ptr(l.e.scalar_ty(from), input.into(), i)?;
                let x = l.e.load(l.e.scalar_ty(from), at.into_pointer_value(), from.bytes())?;
                l.interpreted(from, op.input_signed, op.interpretation, x)?
            };
            let at = l.e.element_ptr(number, numbers.into(), i)?;
            l.e.store(x, at.into_pointer_value(), 4)?;
            Ok(Vec::new())
        })?;
        Ok((numbers, number))
    }

    /// An element of the vector as a number of the interpretation, in the type that is multiplied.
    pub(super) fn interpreted(
        &mut self,
        from: Scalar,
        signed: bool,
        to: Component,
        x: V<'c>,
    ) -> Result<V<'c>> {
        let nearest = |kind| ConvertOp { saturate: true, ..ConvertOp::new(kind) };
        if to.is_float() {
            let s = to.scalar();
            let kind = match (from.is_float(), signed) {
                (true, _) => ConvertKind::FToF,
                (false, true) => ConvertKind::SToF,
                (false, false) => ConvertKind::UToF,
            };
            let x = if from == s { x } else { self.e.convert(nearest(kind), from, s, x)? };
            return self.multiplicand(to, x);
        }
        let (least, most) = if to.is_signed() { (-0x80, 0x7f) } else { (0, 0xff) };
        let x = match (from.is_float(), signed) {
            (true, _) => {
                let x = self.e.as_f32(from, x)?;
                let x = self.e.map1("llvm.roundeven", x)?;
                self.e.convert(nearest(ConvertKind::FToS), Scalar::F32, Scalar::I64, x)?
            }
            (false, true) => self.e.sext_trunc(x, 64)?,
            (false, false) => {
                let x = self.e.zext_trunc(x, 64)?;
                self.e.map2("llvm.umin", x, self.e.i64(0xff))?
            }
        };
        let x = self.e.map2("llvm.smax", x, self.e.i64(least))?;
        let x = self.e.map2("llvm.smin", x, self.e.i64(most))?;
        self.e.zext_trunc(x, 32)
    }

    /// A component as what is multiplied and summed: an `f32`, or an `i32`.
    pub(super) fn multiplicand(&mut self, component: Component, x: V<'c>) -> Result<V<'c>> {
        match (component.is_float(), component.is_signed()) {
            (true, _) => self.e.as_f32(component.scalar(), x),
            (false, true) => self.e.sext_trunc(x, 32),
            (false, false) => self.e.zext_trunc(x, 32),
        }
    }

    fn multiply_vector(
        &mut self,
        product: &Product<'_, 'c>,
        numbers: Numbers<'c>,
        is_whole: bool,
    ) -> Result<()> {
        let (m, whole) = (product.op.m, product.op.m / ROWS);
        if whole > 0 {
            self.repeat(whole, &[], |l, i, _| {
                let first = l.e.mul(i, l.e.i64(ROWS.into()))?;
                l.multiply_rows(product, numbers, is_whole, (first, ROWS))?;
                Ok(Vec::new())
            })?;
        }
        match m % ROWS {
            0 => Ok(()),
            rest => self.multiply_rows(product, numbers, is_whole, (self.e.i64((m - rest).into()), rest)),
        }
    }

    /// Rows from one on.
    fn multiply_rows(
        &mut self,
        product: &Product<'_, 'c>,
        (input, number): Numbers<'c>,
        is_whole: bool,
        (first, count): (V<'c>, u32),
    ) -> Result<()> {
        let Product { op, matrix, bias } = *product;
        let (result, s) = self.vector(op.result)?;
        let rows = (0..count).map(|i| self.e.add(first, self.e.i64(i.into())));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        let mut sums = Vec::new();
        for &row in &rows {
            sums.push(match bias {
                Some((component, p)) => {
                    let s = component.scalar();
                    let step = self.e.mul(row, self.e.i64(s.bytes().into()))?;
                    let p = Ptr { offset: self.e.add(p.offset, step)?, ..p };
                    let x = self.scalar_at(&p, s, false)?;
                    self.multiplicand(component, x)?
                }
                None => self.e.zero(number),
            });
        }
        let sums = self.repeat(op.k, &sums, |l, k, sums| {
            let at = l.e.element_ptr(number, input.into(), k)?;
            let x = l.e.load(number, at.into_pointer_value(), 4)?;
            let mut next = Vec::new();
            for (&row, &sum) in rows.iter().zip(sums) {
                let at = l.place_in(&matrix, row, k)?;
                let a = l.scalar_at(&at, matrix.elem, is_whole)?;
                next.push(if op.matrix.is_float() {
                    let a = l.e.as_f32(matrix.elem, a)?;
                    l.e.fma(Scalar::F32, a, x, sum)?
                } else {
                    let a = l.multiplicand(op.matrix, a)?;
                    l.e.add(sum, l.e.mul(a, x)?)?
                });
            }
            Ok(next)
        })?;
        for (row, sum) in rows.into_iter().zip(sums) {
            let sum = match op.matrix.is_float() {
                // No sum is a zero with a sign.
                true => {
                    let sum =
                        self.e.bin(inkwell::values::InstructionOpcode::FAdd, sum, self.e.zero(number))?;
                    self.e.round_f32(s, sum)?
                }
                false => sum,
            };
            let at = self.e.element_ptr(self.e.scalar_ty(s), result.into(), row)?;
            self.e.store(sum, at.into_pointer_value(), s.bytes())?;
        }
        Ok(())
    }
}
