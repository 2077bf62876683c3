//! Products of vectors and matrices.
//!
//! Sums of products are added up in the order of their terms, as the formulas of SPIR-V read; a
//! target may contract each with its product unless the instruction is *NoContraction*.

use crate::cx::{Cx, Values};
use crate::diag::{Res, operand};
use crate::ops::componentwise::{self as cw, Class};
use crate::reader::{Id, Inst};
use crate::types::Kind;
use phalanx_ir::{self as ir, BinaryOp as B, Scalar, Value};
use spirv::Op;

/// Translates a product.
pub(super) fn emit(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    match inst.op {
        Op::Dot => dot(cx, inst),
        Op::VectorTimesScalar => vector_times_scalar(cx, inst),
        Op::MatrixTimesScalar => matrix_times_scalar(cx, inst),
        Op::VectorTimesMatrix => vector_times_matrix(cx, inst),
        Op::MatrixTimesVector => matrix_times_vector(cx, inst),
        Op::MatrixTimesMatrix => matrix_times_matrix(cx, inst),
        _ => outer_product(cx, inst),
    }
}

/// A matrix: its components, column by column.
pub(in crate::ops) struct Matrix {
    values: Values,
    rows: usize,
}

impl Matrix {
    /// Reads an operand that is a matrix of floats.
    pub(in crate::ops) fn read(cx: &mut Cx<'_>, id: Id) -> Res<Self> {
        let ty = cx.ty_of(id)?;
        let rows = match *cx.types().kind(ty) {
            Kind::Matrix { column, .. } => cx.types().lanes(column),
            _ => None,
        };
        let is_float = cx.types().scalar(ty).is_some_and(Scalar::is_arithmetic_float);
        let Some(rows) = rows.filter(|rows| is_float && *rows > 0) else {
            let found = cx.types().describe(ty);
            return Err(operand(format!("operand %{id} is {found}, expected a matrix of f16, f32 or f64")));
        };
        Ok(Self { values: cx.values(id)?, rows: rows as usize })
    }

    /// Its columns.
    pub(in crate::ops) fn columns(&self) -> impl ExactSizeIterator<Item = &[Value]> {
        self.values.chunks(self.rows)
    }

    /// Its rows.
    pub(in crate::ops) fn rows(&self) -> impl Iterator<Item = Values> {
        (0..self.rows).map(|r| self.columns().map(|column| column[r]).collect())
    }

    /// The component at a row and a column.
    pub(in crate::ops) fn at(&self, row: usize, column: usize) -> Value {
        self.values[column * self.rows + row]
    }
}

/// The sum of the products of components, of which there is at least one.
pub(in crate::ops) fn sum_of_products(cx: &mut Cx<'_>, x: &[Value], y: &[Value]) -> Value {
    let first = cx.b().binary(B::Fmul, x[0], y[0]);
    x.iter().zip(y).skip(1).fold(first, |sum, (&x, &y)| {
        let product = cx.b().binary(B::Fmul, x, y);
        cx.b().binary(B::Fadd, sum, product)
    })
}

/// *OpDot*; on bfloat16 (SPV_KHR_bfloat16) it is computed in `f32` and rounded once.
fn dot(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let mut x = cw::components(cx, inst.arg(0)?, Class::AnyFloat)?;
    let mut y = cw::components(cx, inst.arg(1)?, Class::AnyFloat)?;
    cw::expect_alike(cx, &x, &y)?;
    let ty = cw::scalar_ty(cx, x[0])?;
    if ty.is_arithmetic_float() {
        let sum = sum_of_products(cx, &x, &y);
        return cx.define_values(inst, &[sum]);
    }
    if ty != Scalar::BF16 {
        return Err(operand(format!("expected f16, f32, f64 or bf16, found {ty}")));
    }
    x = cw::map(&x, |x| cw::refloat(cx, x, Scalar::F32));
    y = cw::map(&y, |y| cw::refloat(cx, y, Scalar::F32));
    let sum = sum_of_products(cx, &x, &y);
    let sum = cw::refloat(cx, sum, ty);
    cx.define_values(inst, &[sum])
}

fn vector_times_scalar(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let x = cw::components(cx, inst.arg(0)?, Class::Float)?;
    let y = cw::scalar(cx, inst.arg(1)?, Class::Float)?;
    cw::expect_alike(cx, &x[..1], &[y])?;
    let out = cw::map(&x, |x| cx.b().binary(B::Fmul, x, y));
    cx.define_values(inst, &out)
}

/// On a cooperative matrix of integers, too (SPV_KHR_cooperative_matrix).
fn matrix_times_scalar(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let (id, scalar) = (inst.arg(0)?, inst.arg(1)?);
    let ty = cx.ty_of(id)?;
    if cx.types().coop_mat(ty).is_some() {
        let (mat, m) = cx.matrix(id)?;
        if !mat.elem.is_int() && !mat.elem.is_arithmetic_float() {
            return Err(operand(format!("operand %{id} is {mat}, on which no arithmetic is defined")));
        }
        let s = cx.scalar(scalar, mat.elem)?;
        let out = cx.b().value(ir::Op::MatScale, &[m, s], mat.into());
        return cx.define_values(inst, &[out]);
    }
    let x = Matrix::read(cx, id)?;
    let y = cw::scalar(cx, scalar, Class::Float)?;
    cw::expect_alike(cx, &x.values[..1], &[y])?;
    let out = cw::map(&x.values, |x| cx.b().binary(B::Fmul, x, y));
    cx.define_values(inst, &out)
}

fn vector_times_matrix(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let x = cw::components(cx, inst.arg(0)?, Class::Float)?;
    let m = Matrix::read(cx, inst.arg(1)?)?;
    let mut out = Values::new();
    for column in m.columns() {
        cw::expect_alike(cx, &x, column)?;
        out.push(sum_of_products(cx, &x, column));
    }
    cx.define_values(inst, &out)
}

fn matrix_times_vector(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let m = Matrix::read(cx, inst.arg(0)?)?;
    let x = cw::components(cx, inst.arg(1)?, Class::Float)?;
    let mut out = Values::new();
    for row in m.rows() {
        cw::expect_alike(cx, &row, &x)?;
        out.push(sum_of_products(cx, &row, &x));
    }
    cx.define_values(inst, &out)
}

fn matrix_times_matrix(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let x = Matrix::read(cx, inst.arg(0)?)?;
    let y = Matrix::read(cx, inst.arg(1)?)?;
    let rows: Vec<Values> = x.rows().collect();
    let mut out = Values::new();
    for column in y.columns() {
        for row in &rows {
            cw::expect_alike(cx, row, column)?;
            out.push(sum_of_products(cx, row, column));
        }
    }
    cx.define_values(inst, &out)
}

fn outer_product(cx: &mut Cx<'_>, inst: &Inst<'_>) -> Res<()> {
    let x = cw::components(cx, inst.arg(0)?, Class::Float)?;
    let y = cw::components(cx, inst.arg(1)?, Class::Float)?;
    cw::expect_alike(cx, &x[..1], &y[..1])?;
    let mut out = Values::new();
    for &y in &y {
        out.extend(cw::map(&x, |x| cx.b().binary(B::Fmul, x, y)));
    }
    cx.define_values(inst, &out)
}
