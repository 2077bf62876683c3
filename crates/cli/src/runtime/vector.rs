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

/// A product of a matrix and a vector in a shader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct VectorUse {
    #[serde(flatten)]
    pub(crate) types: UsedTypes,
    /// Whether this machine's devices have it.
    pub(crate) is_here: bool,
}

/// Its types.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UsedTypes {
    /// Type of the vector's components.
    pub(crate) input: String,
    /// What they are taken for.
    pub(crate) interpretation: String,
    pub(crate) matrix: String,
    /// Nothing without a bias.
    pub(crate) bias: Option<String>,
    pub(crate) result: String,
    /// Whether the matrix is multiplied by its transpose.
    pub(crate) transpose: bool,
}

impl VectorUse {
    pub(super) fn new(info: &phalanx::VectorMulInfo) -> Self {
        let interpretation = info.interpretation.name();
        let types = UsedTypes {
            input: info.input.name(),
            interpretation: match info.packed {
                true => format!("{interpretation} packed"),
                false => interpretation.to_owned(),
            },
            matrix: info.matrix.name().to_owned(),
            bias: info.bias.map(|bias| bias.name().to_owned()),
            result: info.result.name(),
            transpose: info.transposed,
        };
        let is_here = phalanx::vector::vector_types().iter().map(VectorRow::new).any(|row| types.are(&row));
        Self { types, is_here }
    }

    /// As a line of `phalanx check`.
    pub(crate) fn describe(&self) -> String {
        let UsedTypes { input, interpretation, matrix, bias, result, transpose } = &self.types;
        let transpose = if *transpose { " transposed" } else { "" };
        let bias = bias.as_ref().map_or_else(String::new, |bias| format!(" + {bias}"));
        let here = if self.is_here { "" } else { ", which this device has not" };
        format!("{matrix}{transpose} * {input} as {interpretation}{bias} -> {result}{here}")
    }
}

impl UsedTypes {
    /// Whether a device with this row has them.
    fn are(&self, row: &VectorRow) -> bool {
        self.input == row.input
            && self.interpretation == row.interpretation
            && self.matrix == row.matrix
            && self.bias.as_ref().is_none_or(|bias| *bias == row.bias)
            && self.result == row.result
            && (row.transpose || !self.transpose)
    }
}

/// The library's type of an element, if matrices may have it.
pub(crate) fn component(dtype: DType) -> Option<Component> {
    Component::ALL.into_iter().find(|component| component.name() == dtype.name())
}

/// A matrix in a layout; rows and columns are without gaps.
pub(crate) fn form(dtype: DType, layout_name: LayoutName, rows: usize, columns: usize) -> Result<MatrixForm> {
    let component =
        component(dtype).with_context(|| format!("no matrices of {dtype} for cooperative vectors"))?;
    Ok(MatrixForm::packed(component, layout(layout_name), u32::try_from(rows)?, u32::try_from(columns)?))
}

/// The bytes that a matrix takes.
pub(crate) fn bytes(dtype: DType, layout: LayoutName, rows: usize, columns: usize) -> Result<usize> {
    let form = form(dtype, layout, rows, columns)?;
    Ok(form.bytes(u32::try_from(rows)?, u32::try_from(columns)?)?)
}

/// The bytes that a matrix takes at most, if its layout is one of which devices have their own.
pub(crate) fn room(dtype: DType, layout: LayoutName, rows: usize, columns: usize) -> Result<usize> {
    let own = if layout == LayoutName::Inferencing { LayoutName::Paired } else { layout };
    Ok(bytes(dtype, layout, rows, columns)?.max(bytes(dtype, own, rows, columns)?))
}

/// A matrix in another type and layout.
pub(crate) fn converted(
    [rows, columns]: [usize; 2],
    from: (DType, LayoutName),
    to: (DType, LayoutName),
    matrix: &[u8],
) -> Result<Vec<u8>> {
    let conversion = Conversion {
        rows: u32::try_from(rows)?,
        columns: u32::try_from(columns)?,
        source: form(from.0, from.1, rows, columns)?,
        destination: form(to.0, to.1, rows, columns)?,
    };
    let mut bytes = vec![0; conversion.destination_bytes()?];
    convert_matrix(&conversion, matrix, &mut bytes)?;
    Ok(bytes)
}

/// The types that matrices may have.
pub(crate) fn component_names() -> String {
    Component::ALL.map(Component::name).join(", ")
}

/// What an element is kept as.
pub(crate) fn kept(form: MatrixForm) -> DType {
    let component = form.component;
    let kept = form.layout.kept(component);
    // The component itself, which may have a sign, or the float that takes its place.
    let of_kept = Component::ALL.into_iter().find(|other| other.scalar() == kept);
    let kept = if kept == component.scalar() { Some(component) } else { of_kept };
    kept.and_then(|kept| kept.name().parse().ok()).unwrap_or(DType::U8)
}

/// The library's layout.
pub(crate) fn layout(name: LayoutName) -> MatrixLayout {
    match name {
        LayoutName::RowMajor => MatrixLayout::RowMajor,
        LayoutName::ColumnMajor => MatrixLayout::ColumnMajor,
        LayoutName::Inferencing => MatrixLayout::Inferencing,
        LayoutName::Paired => MatrixLayout::Paired,
        LayoutName::Training => MatrixLayout::Training,
    }
}
