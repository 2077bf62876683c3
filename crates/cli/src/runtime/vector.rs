//! Matrices for cooperative vectors, as the library has them.

use anyhow::{Context, Result};
use phalanx::vector::{Component, MatrixLayout};
use serde::Serialize;

use crate::args::LayoutName;
use crate::data::DType;

pub(crate) use phalanx::vector::{Conversion, ConversionError, MatrixForm, convert_matrix};

/// The types of a product of a matrix and a vector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct VectorRow {
    /// Type of the vector's components.
    pub(crate) input: String,
    /// What they are taken for.
    pub(crate) interpretation: String,
    pub(crate) matrix: String,
    pub(crate) bias: String,
    pub(crate) result: String,
    pub(crate) transpose: bool,
}

impl VectorRow {
    pub(super) fn new(types: &phalanx::vector::VectorTypes) -> Self {
        let interpretation = types.interpretation.name();
        Self {
            input: types.input.name().to_owned(),
            interpretation: match types.packed {
                true => format!("{interpretation} packed"),
                false => interpretation.to_owned(),
            },
            matrix: types.matrix.name().to_owned(),
            bias: types.bias.name().to_owned(),
            result: types.result.name().to_owned(),
            transpose: types.transpose,
        }
    }
}

/// The library's type of an element, if matrices may have it.
pub(crate) fn component(dtype: DType) -> Option<Component> {
    Component::ALL.into_iter().find(|component| component.name() == dtype.name())
}

/// The bytes of a matrix in the layout from which cooperative vectors are multiplied fastest.
pub(crate) fn inferencing_bytes(dtype: DType, rows: usize, columns: usize) -> Result<usize> {
    Ok(to_inferencing(dtype, rows, columns)?.destination_bytes()?)
}

/// A matrix in that layout, from one whose rows follow each other.
pub(crate) fn inferencing(dtype: DType, rows: usize, columns: usize, matrix: &[u8]) -> Result<Vec<u8>> {
    let conversion = to_inferencing(dtype, rows, columns)?;
    let mut bytes = vec![0; conversion.destination_bytes()?];
    convert_matrix(&conversion, matrix, &mut bytes)?;
    Ok(bytes)
}

fn to_inferencing(dtype: DType, rows: usize, columns: usize) -> Result<Conversion> {
    let component =
        component(dtype).with_context(|| format!("no matrices of {dtype} for cooperative vectors"))?;
    let (rows, columns) = (u32::try_from(rows)?, u32::try_from(columns)?);
    let source = MatrixForm::packed(component, MatrixLayout::RowMajor, rows, columns);
    let destination = MatrixForm::optimal(component, MatrixLayout::Inferencing);
    Ok(Conversion { rows, columns, source, destination })
}

/// The types that matrices may have.
pub(crate) fn component_names() -> String {
    Component::ALL.map(Component::name).join(", ")
}

/// What an element is kept as.
pub(crate) fn kept(form: MatrixForm) -> DType {
    let component = form.component;
    // Optimal layouts keep floats as f32, or everything as it is.
    let kept = form.layout.kept(component);
    let is_wider = kept != component.scalar();
    let name = if is_wider { Component::F32.name() } else { component.name() };
    name.parse().unwrap_or(DType::U8)
}

/// The library's layout.
pub(crate) fn layout(name: LayoutName) -> MatrixLayout {
    match name {
        LayoutName::RowMajor => MatrixLayout::RowMajor,
        LayoutName::ColumnMajor => MatrixLayout::ColumnMajor,
        LayoutName::Inferencing => MatrixLayout::Inferencing,
        LayoutName::Training => MatrixLayout::Training,
    }
}
