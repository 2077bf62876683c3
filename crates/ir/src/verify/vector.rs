//! Operations on vectors: what their variables and matrices may be.

use super::Problem;
use super::structure::Checker;
use super::want::Want;
use crate::entities::Var;
use crate::module::InstInfo;
use crate::op::Op;
use crate::types::{Scalar, Type};
use crate::vector::{Component, VecMatMul, VecOuterAdd};

const I64: Want = Want::Is(Type::I64);

impl Checker<'_> {
    /// Checks an operation on vectors.
    pub(super) fn vector(&mut self, i: &InstInfo) {
        match &i.op {
            Op::VecMatMul(op) => self.vec_mat_mul(i, op),
            Op::VecOuterAdd(op) => self.vec_outer_add(i, op),
            Op::VecReduceAdd(var) => {
                self.sig(i, &[Want::AddressPtr], &[]);
                self.vector_var(*var, "f16 or f32", is_summed);
                self.writable(i);
            }
            _ => {}
        }
    }

    fn vec_mat_mul(&mut self, i: &InstInfo, op: &VecMatMul) {
        let operands = [Want::AddressPtr, I64, Want::AddressPtr];
        self.sig(i, &operands[..2 + usize::from(op.bias.is_some())], &[]);
        let is_float = op.interpretation.is_float();
        let is_byte = |c: Component| matches!(c, Component::S8 | Component::U8);
        let fits = if is_float {
            op.matrix.is_float() && op.bias.is_none_or(Component::is_float)
        } else {
            let wide = |c| matches!(c, Component::S32 | Component::U32);
            is_byte(op.interpretation) && is_byte(op.matrix) && op.bias.is_none_or(wide)
        };
        if !fits {
            self.error(Problem::Interpretations);
        }
        let (expected, is_result): (_, fn(Scalar) -> bool) =
            if is_float { ("f16 or f32", is_summed) } else { ("i32", |s| s == Scalar::I32) };
        let rows = self.vector_var(op.result, expected, is_result);
        if rows.is_some_and(|n| n != op.m) {
            self.error(Problem::VectorLength { var: op.result, found: rows.unwrap_or(0), expected: op.m });
        }
        if op.packed && is_float {
            self.error(Problem::Interpretations);
        }
        let columns = if op.packed {
            self.vector_var(op.input, "i32", |s| s == Scalar::I32).map(|n| (n, op.k.div_ceil(4)))
        } else {
            let is_input = |s: Scalar| s.is_int() || is_summed(s);
            self.vector_var(op.input, "an integer, f16 or f32", is_input).map(|n| (n, op.k))
        };
        // More words than the numbers need are ignored.
        if let Some((found, expected)) = columns.filter(|&(n, k)| if op.packed { n < k } else { n != k }) {
            self.error(Problem::VectorLength { var: op.input, found, expected });
        }
        if op.m == 0 || op.k == 0 {
            self.error(Problem::EmptyMatrix);
        }
    }

    fn vec_outer_add(&mut self, i: &InstInfo, op: &VecOuterAdd) {
        self.sig(i, &[Want::AddressPtr, I64], &[]);
        self.writable(i);
        self.vector_var(op.a, "f16 or f32", is_summed);
        self.vector_var(op.b, "f16 or f32", is_summed);
        if !is_summed(op.matrix.scalar()) {
            self.error(Problem::Interpretations);
        }
        if !op.layout.is_for_sums() {
            self.error(Problem::Layout(op.layout.name(), "a layout that can be added to"));
        }
    }

    /// Checks the elements of a vector, and gives their number.
    fn vector_var(&mut self, var: Var, expected: &'static str, accepts: fn(Scalar) -> bool) -> Option<u32> {
        let info = self.var_info_of(var)?;
        let (ty, count, is_table) = (info.ty, info.count, info.table.is_some());
        if !ty.scalar().is_some_and(accepts) {
            self.error(Problem::VectorType { var, ty, expected });
        }
        // A table is of all invocations together.
        if is_table {
            self.error(Problem::WritesTable { var });
        }
        Some(count)
    }
}

/// Whether sums have this type.
fn is_summed(s: Scalar) -> bool {
    matches!(s, Scalar::F16 | Scalar::F32)
}
