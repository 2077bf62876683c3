//! Products of vectors of invocations and matrices in memory, anywhere. All sums are exact: of bytes, or of small integers
//! and 8-bit floats.

use super::{Generator, IN_BYTES};
use crate::builder::Builder;
use crate::entities::{Binding, Value, Var};
use crate::op::{BinaryOp, ConvertKind, Op};
use crate::types::{Scalar, Space, Type};
use crate::vector::{Component, MatrixLayout, VecMatMul};

/// Rows and columns.
const SIDES: [u32; 7] = [1, 2, 3, 4, 5, 8, 17];
/// Where their elements lie; not as a target likes.
const LAYOUTS: [MatrixLayout; 3] =
    [MatrixLayout::RowMajor, MatrixLayout::ColumnMajor, MatrixLayout::Training];
/// Columns of matrices of floats, whose sums stay exact in binary32.
const FLOAT_SIDES: [u32; 5] = [1, 2, 3, 5, 8];

impl Generator<'_> {
    /// Multiplies a vector of each invocation's own by a matrix in the input, and writes an element of the result.
    pub(super) fn vector_statement(&mut self, b: &mut Builder<'_>) {
        let (result, m) = if self.config.floats && self.rng.one_in(2) {
            self.float_vector_product(b)
        } else {
            self.integer_vector_product(b)
        };
        let index = b.i32(self.rng.below(m as usize) as i32);
        let mut value = b.var_load(result, Some(index));
        if b.func.ty(value) != Type::I32 {
            value = b.convert(ConvertKind::FToS, value, Scalar::I32);
        }
        self.values.push(value);
        self.write(b, value);
    }

    fn integer_vector_product(&mut self, b: &mut Builder<'_>) -> (Var, u32) {
        let (m, k) = (self.rng.pick(&SIDES), self.rng.pick(&SIDES));
        let packed = self.rng.one_in(3);
        let bytes = [Component::S8, Component::U8];
        let elem = if packed { Scalar::I32 } else { self.rng.pick(&[Scalar::I8, Scalar::I16, Scalar::I32]) };
        let count = if packed { k.div_ceil(4) } else { k };
        let input = b.func.new_var(elem.into(), count, "");
        for i in 0..count {
            let (index, value) = (b.i32(i as i32), self.expr(b, elem, 1));
            b.var_store(input, Some(index), value);
        }
        let in_place = count == m && elem == Scalar::I32 && self.rng.one_in(2);
        let result = if in_place { input } else { b.func.new_var(Type::I32, m, "") };
        let op = VecMatMul {
            result,
            input,
            m,
            k,
            interpretation: self.rng.pick(&bytes),
            packed,
            input_signed: self.rng.one_in(2),
            matrix: self.rng.pick(&bytes),
            layout: self.rng.pick(&LAYOUTS),
            transposed: self.rng.one_in(3),
            bias: self.rng.one_in(2).then_some(Component::S32),
        };
        self.multiply(b, op);
        (result, m)
    }

    fn float_vector_product(&mut self, b: &mut Builder<'_>) -> (Var, u32) {
        let (m, k) = (self.rng.pick(&SIDES), self.rng.pick(&FLOAT_SIDES));
        let elem = self.rng.pick(&[Scalar::F16, Scalar::F32, Scalar::I32]);
        let input = b.func.new_var(elem.into(), k, "");
        for i in 0..k {
            let (x, three) = (self.expr(b, Scalar::I32, 1), b.i32(3));
            let mut value = b.binary(BinaryOp::And, x, three);
            if elem.is_float() {
                value = b.convert(ConvertKind::SToF, value, elem);
            }
            let index = b.i32(i as i32);
            b.var_store(input, Some(index), value);
        }
        let result = b.func.new_var(self.rng.pick(&[Scalar::F16, Scalar::F32]).into(), m, "");
        let op = VecMatMul {
            result,
            input,
            m,
            k,
            interpretation: self.rng.pick(&[
                Component::F16,
                Component::F32,
                Component::E4m3,
                Component::Bf16,
            ]),
            packed: false,
            input_signed: true,
            // The bytes of other floats may be anything: here they are 448 at most, in steps of 2^-9.
            matrix: Component::E4m3,
            layout: self.rng.pick(&LAYOUTS),
            transposed: self.rng.one_in(3),
            bias: None,
        };
        self.multiply(b, op);
        (result, m)
    }

    /// The product; the matrix and the bias are where they may differ between invocations, or end outside.
    fn multiply(&mut self, b: &mut Builder<'_>, op: VecMatMul) {
        let matrix = self.input_place(b);
        let stride = self.rng.pick(&[op.k, op.m, 16, 3]).into();
        let mut args = vec![matrix, b.i64(stride)];
        if op.bias.is_some() {
            args.push(self.input_place(b));
        }
        b.effect(Op::VecMatMul(op), &args);
    }

    /// A place in the input, mostly the same for all.
    fn input_place(&mut self, b: &mut Builder<'_>) -> Value {
        let zero = b.i32(0);
        let start = b.value(Op::BufferPtr(Binding::new(1)), &[zero], Type::Ptr(Space::Buffer));
        let disp = self.rng.below(IN_BYTES as usize + 8) as i64;
        if !self.rng.one_in(3) {
            return b.ptr_add(start, None, 0, disp);
        }
        let (x, mask) = (self.expr(b, Scalar::I32, 1), b.i32(self.rng.pick(&[1, 3, 127])));
        let index = b.binary(BinaryOp::And, x, mask);
        b.ptr_add(start, Some(index), self.rng.pick(&[1, 4, 16]), disp / 2)
    }
}
