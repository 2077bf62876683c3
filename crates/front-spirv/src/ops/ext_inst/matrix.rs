//! Determinant and inverse of square matrices of 2 to 4 rows, by cofactors.

use super::Glsl;
use crate::cx::{Cx, Values};
use crate::diag::{Res, operand};
use crate::ops::arith::Matrix;
use crate::ops::componentwise as cw;
use phalanx_ir::{BinaryOp as B, UnaryOp as U, Value};
use spirv::GlslStd450Op as G;

/// Translates *Determinant* or *MatrixInverse*.
pub(super) fn emit(cx: &mut Cx<'_>, g: Glsl<'_, '_>) -> Res<()> {
    let m = Matrix::read(cx, g.arg(0)?)?;
    let n = m.columns().len();
    if m.columns().any(|c| c.len() != n) {
        return Err(operand("the matrix is not square"));
    }
    let all: Vec<usize> = (0..n).collect();
    let cofactor = |cx: &mut Cx<'_>, row: usize, column: usize| {
        let rows: Vec<usize> = all.iter().copied().filter(|r| *r != row).collect();
        let columns: Vec<usize> = all.iter().copied().filter(|c| *c != column).collect();
        let minor = determinant(cx, &m, &rows, &columns);
        if (row + column).is_multiple_of(2) { minor } else { cx.b().unary(U::Fneg, minor) }
    };
    if g.op == G::Determinant {
        let out = determinant(cx, &m, &all, &all);
        return cx.define_values(g.inst, &[out]);
    }
    // The inverse is the transpose of the cofactors over the determinant, which the cofactors of
    // the first column give, too.
    let mut adjugate: Vec<Values> = Vec::with_capacity(n);
    for row in 0..n {
        adjugate.push((0..n).map(|column| cofactor(cx, row, column)).collect());
    }
    let first: Values = (0..n).map(|row| m.at(row, 0)).collect();
    let down: Values = adjugate.iter().map(|row| row[0]).collect();
    let det = crate::ops::arith::sum_of_products(cx, &first, &down);
    let one = cw::float(cx, cw::scalar_ty(cx, det)?, 1.0);
    let scale = cx.b().binary(B::Fdiv, one, det);
    let out: Values = adjugate.iter().flatten().map(|&c| cx.b().binary(B::Fmul, c, scale)).collect();
    cx.define_values(g.inst, &out)
}

/// The determinant of the part with these rows and columns, by its first column.
fn determinant(cx: &mut Cx<'_>, m: &Matrix, rows: &[usize], columns: &[usize]) -> Value {
    if let ([row], [column]) = (rows, columns) {
        return m.at(*row, *column);
    }
    let mut sum: Option<Value> = None;
    for (i, &row) in rows.iter().enumerate() {
        let rest: Vec<usize> = rows.iter().copied().filter(|r| *r != row).collect();
        let minor = determinant(cx, m, &rest, &columns[1..]);
        let term = cx.b().binary(B::Fmul, m.at(row, columns[0]), minor);
        sum = Some(match sum {
            None => term,
            Some(sum) if i % 2 == 1 => cx.b().binary(B::Fsub, sum, term),
            Some(sum) => cx.b().binary(B::Fadd, sum, term),
        });
    }
    sum.unwrap_or_else(|| m.at(0, 0))
}
