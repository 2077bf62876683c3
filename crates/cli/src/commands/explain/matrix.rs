//! The map from the components of invocations to the rows and columns of a matrix.

use serde::Serialize;

use super::picture::{Cell, Grid, Paint, Picture};
use crate::runtime::explain::{Kind, Layout, MatType, Scope};

/// A matrix, and how the invocations of a subgroup or of a work-group hold it.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    pub(super) name: String,
    pub(super) ty: MatType,
    pub(super) layout: Layout,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    matrix: String,
    rows: u32,
    columns: u32,
    /// Invocations that hold it.
    invocations: u32,
    /// Components of an invocation.
    components: u32,
    /// Row and column of each component of each invocation, or nothing for padding.
    map: Vec<Vec<Option<[u32; 2]>>>,
}

impl Matrix {
    fn row_and_column(&self, component: u32, invocation: u32) -> Option<[u32; 2]> {
        self.layout.element(invocation, component).map(Into::into)
    }

    pub(super) fn report(&self) -> Report {
        let (components, invocations) = (self.layout.registers(), self.layout.holders());
        let places = |invocation| (0..components).map(|c| self.row_and_column(c, invocation)).collect();
        Report {
            matrix: self.name.clone(),
            rows: self.ty.rows,
            columns: self.ty.cols,
            invocations,
            components,
            map: (0..invocations).map(places).collect(),
        }
    }

    pub(super) fn picture(&self) -> Picture {
        let (size, components) = (self.layout.holders(), self.layout.registers());
        let padding = u64::from(size) * u64::from(components) - self.ty.len();
        let who = match self.ty.scope {
            Scope::Workgroup => "the work-group's",
            _ => "the subgroup's",
        };
        let mut notes = vec![
            format!("{size} invocations, {who}, hold {components} components each"),
            match self.layout.kind {
                Kind::Rows { .. } => {
                    format!("component c of invocation i is the row-major element {size} * c + i")
                }
                Kind::Fragments { .. } => "they lie as the matrix unit holds them".to_owned(),
            },
        ];
        if padding > 0 {
            notes.push(format!("{padding} components are padding: they read as zero, and writes are lost"));
        }
        Picture { title: self.name.clone(), notes, grids: vec![self.elements(), self.components(components)] }
    }

    /// Who holds each element.
    fn elements(&self) -> Grid {
        let cols = u64::from(self.ty.cols);
        let cell = |element| {
            let (invocation, component) = self.layout.at((element / cols) as u32, (element % cols) as u32);
            Cell { label: format!("{invocation}.{component}"), paint: Paint::Group(component) }
        };
        Grid {
            title: "invocation.component at each row and column".to_owned(),
            rows: self.ty.rows,
            cols: self.ty.cols,
            cells: (0..self.ty.len()).map(cell).collect(),
            is_text: true,
        }
    }

    /// What each invocation holds.
    fn components(&self, components: u32) -> Grid {
        let cell = |invocation, component| match self.row_and_column(component, invocation) {
            Some([row, col]) => Cell { label: format!("{row},{col}"), paint: Paint::Group(component) },
            None => Cell::default(),
        };
        let cells = (0..self.layout.holders()).flat_map(|i| (0..components).map(move |c| cell(i, c)));
        Grid {
            title: "row,column of each invocation (down) and component (across)".to_owned(),
            rows: self.layout.holders(),
            cols: components,
            cells: cells.collect(),
            is_text: true,
        }
    }
}
