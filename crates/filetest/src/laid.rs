//! Matrices in the layout that is best for multiplying: `matrix SLOT COMPONENT ROWS COLUMNS BYTE` says that one begins there in a
//! buffer. A test gives it in the layout that processors have; a target whose own is another one gets it in that.

use crate::error::Wrong;
use crate::slot::Slot;
use crate::tokens::Tokens;
use phalanx::vector::{Component, Conversion, MatrixForm, MatrixLayout, convert_matrix};
use std::collections::BTreeMap;

/// A matrix in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Laid {
    /// The buffer.
    pub slot: Slot,
    /// Where it begins.
    pub byte: usize,
    /// What the elements are.
    pub component: Component,
    /// Rows in memory.
    pub rows: u32,
    /// Columns in memory.
    pub columns: u32,
}

/// Bytes of a buffer, before and after a matrix came to another layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    slot: Slot,
    byte: usize,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Laid {
    pub(crate) fn parse(slot: Slot, tokens: &mut Tokens<'_>) -> Result<Self, Wrong> {
        let name = tokens.word("a component type")?;
        let component = Component::ALL.into_iter().find(|component| component.name() == name);
        let component = component.ok_or_else(|| Wrong::new("a component type", name))?;
        let mut number = |what| {
            let number = tokens.number(what)?;
            u32::try_from(number).map_err(|_| Wrong::new(what, number))
        };
        let (rows, columns, byte) = (number("rows")?, number("columns")?, number("a byte")?);
        Ok(Self { slot, byte: byte as usize, component, rows, columns })
    }

    fn form(&self, layout: MatrixLayout) -> MatrixForm {
        MatrixForm::optimal(self.component, layout)
    }

    /// Where the matrix ends on the target that takes most for it.
    pub fn end(&self) -> usize {
        let bytes = [MatrixLayout::Inferencing, MatrixLayout::Paired]
            .map(|layout| self.form(layout).bytes(self.rows, self.columns).unwrap_or(0));
        self.byte + bytes[0].max(bytes[1])
    }

    /// Brings it into a layout, in a buffer that is large enough.
    pub(crate) fn bring(
        &self,
        layout: MatrixLayout,
        buffers: &mut BTreeMap<Slot, Vec<u8>>,
    ) -> Result<Option<Moved>, String> {
        let own = MatrixLayout::Inferencing;
        if layout == own {
            return Ok(None);
        }
        let (rows, columns) = (self.rows, self.columns);
        let conversion = Conversion { rows, columns, source: self.form(own), destination: self.form(layout) };
        let place = buffers.get_mut(&self.slot).and_then(|bytes| bytes.get_mut(self.byte..self.end()));
        let place = place.ok_or_else(|| format!("{}: the matrix is outside", self.slot))?;
        let before = place.to_vec();
        convert_matrix(&conversion, &before, place).map_err(|error| error.to_string())?;
        Ok(Some(Moved { slot: self.slot, byte: self.byte, after: place.to_vec(), before }))
    }
}

impl Moved {
    /// Brings it back if nobody wrote there.
    pub(crate) fn restore(&self, buffers: &mut BTreeMap<Slot, Vec<u8>>) {
        let place = buffers.get_mut(&self.slot).and_then(|bytes| bytes.get_mut(self.byte..));
        if let Some(place) = place
            && place.starts_with(&self.after)
        {
            place[..self.before.len()].copy_from_slice(&self.before);
        }
    }
}
