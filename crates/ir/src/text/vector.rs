//! Attributes of the operations on vectors.

use super::ops::Attrs;
use crate::entities::Var;
use crate::vector::{Component, MatrixLayout, VecMatMul, VecOuterAdd};

/// A product with its attributes at their defaults.
pub(super) const MAT_MUL: VecMatMul = VecMatMul {
    result: Var::new(0),
    input: Var::new(0),
    m: 1,
    k: 1,
    interpretation: Component::F16,
    packed: false,
    input_signed: false,
    matrix: Component::F16,
    layout: MatrixLayout::RowMajor,
    transposed: false,
    bias: None,
};

/// An outer product with its attributes at their defaults.
pub(super) const OUTER_ADD: VecOuterAdd =
    VecOuterAdd { a: Var::new(0), b: Var::new(0), matrix: Component::F16, layout: MatrixLayout::Training };

/// Visits the attributes of a product: result and input, rows and columns, what the input becomes, the matrix, and the
/// bias if there is one.
pub(super) fn mat_mul_attrs<A: Attrs>(op: &mut VecMatMul, a: &mut A) -> Result<(), A::Error> {
    let components = Component::ALL.map(|c| (c.name(), c));
    a.var(&mut op.result)?;
    a.var(&mut op.input)?;
    a.size("m", &mut op.m, None)?;
    a.size("k", &mut op.k, None)?;
    a.word(&components, &mut op.interpretation)?;
    a.flag("packed", &mut op.packed)?;
    a.flag("signed", &mut op.input_signed)?;
    matrix(&mut op.matrix, &mut op.layout, a)?;
    a.flag("transposed", &mut op.transposed)?;
    let mut has_bias = op.bias.is_some();
    a.flag("bias", &mut has_bias)?;
    let mut bias = op.bias.unwrap_or(Component::F16);
    if has_bias {
        a.word(&components, &mut bias)?;
    }
    op.bias = has_bias.then_some(bias);
    Ok(())
}

/// Visits the attributes of an outer product.
pub(super) fn outer_add_attrs<A: Attrs>(op: &mut VecOuterAdd, a: &mut A) -> Result<(), A::Error> {
    a.var(&mut op.a)?;
    a.var(&mut op.b)?;
    matrix(&mut op.matrix, &mut op.layout, a)
}

fn matrix<A: Attrs>(component: &mut Component, layout: &mut MatrixLayout, a: &mut A) -> Result<(), A::Error> {
    a.word(&Component::ALL.map(|c| (c.name(), c)), component)?;
    a.word(&MatrixLayout::ALL.map(|l| (l.name(), l)), layout)
}
