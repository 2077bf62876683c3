//! Operations on the vectors of invocations: one invocation after the other, one element after the other.

use super::{Exec, Stop};
use crate::memory::{Fault, Pointer};
use crate::traffic::Access;
use phalanx_ir::eval::vector::{dot, interpret, unpack};
use phalanx_ir::{InstInfo, Scalar, Var, VecMatMul, VecOuterAdd, eval};

impl Exec<'_, '_, '_> {
    pub(super) fn vec_mat_mul(&mut self, info: &InstInfo, op: &VecMatMul) -> Result<(), Stop> {
        let (matrix, stride, bias) = (info.args[0], info.args[1], info.args.get(2).copied());
        let result = self.scalar_of(op.result);
        for lane in self.active().iter() {
            let input = self.input(op, lane);
            let stride = self.sub.scalar(stride, lane);
            let matrix = self.sub.pointer(matrix, lane);
            for row in 0..op.m {
                self.dispatch.spend(op.k.into())?;
                let mut pairs = Vec::with_capacity(input.len());
                for (k, &x) in (0..).zip(&input) {
                    let at = matrix.add(op.offset(stride, row, k).cast_signed());
                    pairs.push((self.dispatch.view.read(at, op.layout.kept(op.matrix))?, x));
                }
                let addend = match bias.zip(op.bias) {
                    Some((bias, component)) => {
                        let bytes = i64::from(component.scalar().bytes());
                        let at = self.sub.pointer(bias, lane).add(i64::from(row) * bytes);
                        Some(self.dispatch.view.read(at, component.scalar())?)
                    }
                    None => None,
                };
                self.sub.set_element(op.result, row as usize, lane, dot(op, result, pairs, addend));
            }
        }
        Ok(())
    }

    /// The numbers that the rows of the matrix are multiplied by.
    fn input(&self, op: &VecMatMul, lane: usize) -> Vec<u64> {
        let from = self.scalar_of(op.input);
        let number = |k: u32| {
            if op.packed {
                return unpack(self.sub.element(op.input, k as usize / 4, lane), k);
            }
            interpret(from, op.input_signed, op.interpretation, self.sub.element(op.input, k as usize, lane))
        };
        (0..op.k).map(number).collect()
    }

    pub(super) fn vec_outer_add(&mut self, info: &InstInfo, op: &VecOuterAdd) -> Result<(), Stop> {
        let [rows, columns] = [op.a, op.b].map(|var| self.func().var(var).count);
        let ty = op.matrix.scalar();
        for lane in self.active().iter() {
            self.dispatch.spend(u64::from(rows) * u64::from(columns))?;
            let stride = self.sub.scalar(info.args[1], lane);
            let matrix = self.sub.pointer(info.args[0], lane);
            for row in 0..rows {
                for column in 0..columns {
                    let [a, b] = [(op.a, row), (op.b, column)].map(|(var, i)| {
                        eval::to_f64(self.scalar_of(var), self.sub.element(var, i as usize, lane))
                    });
                    let at = op.layout.offset(op.matrix, columns, stride, (row, column));
                    self.add(matrix.add(at.cast_signed()), ty, a * b)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn vec_reduce_add(&mut self, info: &InstInfo, var: Var) -> Result<(), Stop> {
        let (ty, count) = (self.scalar_of(var), self.func().var(var).count);
        for lane in self.active().iter() {
            self.dispatch.spend(count.into())?;
            let start = self.sub.pointer(info.args[0], lane);
            for i in 0..count {
                let x = eval::to_f64(ty, self.sub.element(var, i as usize, lane));
                self.add(start.add(i64::from(i) * i64::from(ty.bytes())), ty, x)?;
            }
        }
        Ok(())
    }

    /// Adds to a number in memory; the sum is rounded once.
    fn add(&mut self, at: Pointer, ty: Scalar, x: f64) -> Result<(), Fault> {
        let sum = |old| eval::from_f64(ty, eval::to_f64(ty, old) + x);
        self.dispatch.view.update(at, ty, Access::Update, sum)?;
        Ok(())
    }

    fn scalar_of(&self, var: Var) -> Scalar {
        self.func().var(var).ty.scalar().unwrap_or(Scalar::I32)
    }
}
