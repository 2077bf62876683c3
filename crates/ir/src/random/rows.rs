//! Statements on matrices of which each row is one number, and on what is made with them.

use super::Generator;
use crate::builder::Builder;
use crate::entities::Value;
use crate::op::{BinaryOp, CompareOp, Op};
use crate::tensor::MatReduceKind;
use crate::types::{MatType, Type};

impl Generator<'_> {
    /// A matrix of the same type, made of one and of numbers of its rows, which a variable has from round to round.
    pub(super) fn numbers_of_rows(&mut self, b: &mut Builder<'_>, mat: Value, ty: MatType) -> Value {
        let (numbers, sums) = (b.func.new_var(ty.into(), 1, ""), b.func.new_var(ty.into(), 1, ""));
        let counter = b.func.new_var(Type::I32, 1, "");
        let (zero, one, limit) = (b.i32(0), b.i32(1), b.i32(self.rng.below(4) as i32));
        let first = b.value(Op::MatSplat, &[one], ty.into());
        b.var_store(numbers, None, first);
        b.var_store(sums, None, mat);
        b.var_store(counter, None, zero);
        b.repeated(|b, next| {
            let i = b.var_load(counter, None);
            let goes = b.compare(CompareOp::Slt, i, limit);
            let round = |b: &mut Builder<'_>| {
                let read = self.read_matrix(b, ty);
                let x = b.value(Op::MatScale, &[read, i], ty.into());
                let folds = [BinaryOp::Smax, BinaryOp::Umin, BinaryOp::Iadd, BinaryOp::Xor];
                let top = self.fold(b, x, ty, &folds);
                let before = b.var_load(numbers, None);
                let joined = self.joined(b, [before, top], ty);
                let now = if self.rng.one_in(2) { self.placed(b, joined, ty) } else { joined };
                b.var_store(numbers, None, now);
                let wide = self.fold(b, now, ty, &[BinaryOp::Smax, BinaryOp::And, BinaryOp::Iadd]);
                let wide = self.rng.pick(&[wide, now]);
                let sum = b.var_load(sums, None);
                let sum = self.joined(b, [sum, wide], ty);
                let sum = self.joined(b, [sum, x], ty);
                b.var_store(sums, None, sum);
                let more = b.binary(BinaryOp::Iadd, i, one);
                b.var_store(counter, None, more);
                b.br(next);
            };
            b.if_else(goes, round, |_| {});
        });
        if self.rng.one_in(2) {
            let numbers = b.var_load(numbers, None);
            self.write_matrix(b, numbers);
        }
        b.var_load(sums, None)
    }

    /// The fold of each row, or its first or last element.
    fn fold(&mut self, b: &mut Builder<'_>, mat: Value, ty: MatType, ops: &[BinaryOp]) -> Value {
        let op = self.rng.pick(ops);
        let way = self.rng.below(4);
        let body = self.region(b, &[Type::I32; 2], |_, b, params| match way {
            0 | 1 => params[way],
            _ => b.binary(op, params[0], params[1]),
        });
        b.value(Op::MatReduce { kind: MatReduceKind::Row, body }, &[mat], ty.into())
    }

    /// Two matrices element by element.
    fn joined(&mut self, b: &mut Builder<'_>, [x, y]: [Value; 2], ty: MatType) -> Value {
        let op = self.rng.pick(&[BinaryOp::Iadd, BinaryOp::Isub, BinaryOp::Imul]);
        if self.rng.one_in(2) {
            return b.binary(op, x, y);
        }
        let body = self.region(b, &[Type::I32; 4], |_, b, params| b.binary(op, params[2], params[3]));
        b.value(Op::MatMap { body }, &[x, y], ty.into())
    }

    /// A matrix with something of each element's place in it.
    fn placed(&mut self, b: &mut Builder<'_>, mat: Value, ty: MatType) -> Value {
        // The row, the column or neither.
        let part = self.rng.below(3);
        let body = self.region(b, &[Type::I32; 3], |_, b, params| {
            let other = if part == 2 { b.i32(3) } else { params[part] };
            b.binary(BinaryOp::Xor, params[2], other)
        });
        b.value(Op::MatMap { body }, &[mat], ty.into())
    }
}
