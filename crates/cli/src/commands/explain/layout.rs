//! The places of the elements of a matrix that cooperative vectors are multiplied by.

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::args::LayoutArgs;
use super::picture::{Cell, Grid, Paint, Picture};
use crate::data::DType;
use crate::runtime::vector::{self, MatrixForm};

/// More elements are not drawn.
const MAX_ELEMENTS: u64 = 1 << 20;

/// A matrix in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored {
    dtype: DType,
    rows: u32,
    cols: u32,
    form: MatrixForm,
    bytes: usize,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    r#type: DType,
    layout: &'static str,
    rows: u32,
    columns: u32,
    /// What an element is kept as.
    kept: DType,
    /// Bytes from a row, or a column, to the next.
    stride: u64,
    bytes: usize,
    /// The byte that each element begins at, row by row.
    offsets: Vec<Vec<u64>>,
}

impl Stored {
    pub(super) fn new(args: &LayoutArgs) -> Result<Self> {
        let LayoutArgs { dtype, rows, cols, layout, stride, output: _ } = *args;
        let elements = u64::from(rows) * u64::from(cols);
        ensure!(
            (1..=MAX_ELEMENTS).contains(&elements),
            "a matrix of {rows} x {cols}; those of 1 to {MAX_ELEMENTS} elements are drawn"
        );
        let component = vector::component(dtype).with_context(|| {
            format!("vectors are not multiplied by matrices of {dtype}, but of {}", vector::component_names())
        })?;
        let packed = MatrixForm::packed(component, vector::layout(layout), rows, cols);
        let form = MatrixForm { stride: stride.unwrap_or(packed.stride), ..packed };
        Ok(Self { dtype, rows, cols, form, bytes: form.bytes(rows, cols)? })
    }

    fn stride(&self) -> u64 {
        self.form.layout.stride(self.form.component, self.cols, self.form.stride)
    }

    /// The byte that an element begins at.
    fn offset(&self, row: u32, col: u32) -> u64 {
        self.form.layout.offset(self.form.component, self.cols, self.form.stride, (row, col))
    }

    pub(super) fn report(&self) -> Report {
        Report {
            r#type: self.dtype,
            layout: self.form.layout.name(),
            rows: self.rows,
            columns: self.cols,
            kept: vector::kept(self.form),
            stride: self.stride(),
            bytes: self.bytes,
            offsets: (0..self.rows).map(|r| (0..self.cols).map(|c| self.offset(r, c)).collect()).collect(),
        }
    }

    pub(super) fn picture(&self) -> Picture {
        let (layout, kept) = (self.form.layout, vector::kept(self.form));
        let begin = match layout.name() {
            "column_major" => format!("columns begin {} bytes apart", self.stride()),
            "paired" => format!("pairs of rows begin {} bytes apart", 2 * self.stride()),
            _ => format!("rows begin {} bytes apart", self.stride()),
        };
        let mut notes = vec![
            format!("{} bytes; {begin}", self.bytes),
            format!("an element takes {} bytes, as {kept}", kept.size_bytes()),
        ];
        if layout.is_optimal() {
            let used = u64::from(self.rows) * u64::from(self.cols) * kept.size_bytes() as u64;
            notes.push(format!("{} bytes are padding, which is zero", self.bytes as u64 - used));
        }
        // Elements that are in one line of the cache look alike.
        let cell = |row, col| {
            let offset = self.offset(row, col);
            Cell { label: offset.to_string(), paint: Paint::Group((offset / 64) as u32) }
        };
        let grid = Grid {
            title: "the byte at which each element begins".to_owned(),
            rows: self.rows,
            cols: self.cols,
            cells: (0..self.rows).flat_map(|r| (0..self.cols).map(move |c| cell(r, c))).collect(),
            is_text: true,
        };
        let title = format!("{} {}x{} {}", self.dtype, self.rows, self.cols, layout.name());
        Picture { title, notes, grids: vec![grid] }
    }
}
