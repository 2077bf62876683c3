//! Which elements of a matrix an invocation holds as its components.
//!
//! How many components there are is a property of the type alone, [`MatType::components`]: SPIR-V makes it a constant,
//! which sizes of arrays may depend on. Which elements they are is the answer of a target ([`Distribution`]), and the same
//! for all matrices of a type. A distribution has as many places for components as it needs at least, so that it goes with
//! that number; and where each invocation has one component, its number is that of the element, because the MLIR lowering
//! of `gpu.subgroup_mma_rotate` assumes it.
//!
//! The formulas are written once, for numbers that are known ([`Known`]), for code of the IR, and for code of a target:
//! each is an arithmetic ([`Calc`]).
//!
//! Matrix units hold a matrix as a list of *lines*: rows of a left factor or an accumulator, columns of a right factor, so
//! that lines of both factors run along K. Eight lines are eight groups of four invocations; those of a group take turns
//! along the line, with `width` consecutive elements each:
//!
//! ```text
//! width 2      along the line →
//! line 0       l0 l0 l1 l1 l2 l2 l3 l3 | l0 l0 …        place = (line / 8 * steps + step) * width + j
//! line 1       l4 l4 l5 l5 …
//! …
//! line 8       l0 l0 …
//! ```
//!
//! So an accumulator and a left factor of 16 bits lie alike, and a left factor lies as its transpose does as a right one.
//! A matrix whose sides are no multiples of a fragment's has padding.

use crate::types::{MatType, Scalar, Use};
use std::convert::Infallible;

/// Invocations that hold fragments.
pub const LANES: u32 = 32;
/// Groups of invocations, one for each of so many lines.
pub const GROUPS: u32 = 8;
/// Invocations of a group.
pub const GROUP: u32 = 4;

/// Which components of matrices belong to which invocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// Component `i` of invocation `l` of `n` is the row-major element `i * n + l`.
    #[default]
    Rows,
    /// What an invocation holds of a fragment of a matrix unit; where that does not fit, as [`Self::Rows`].
    Fragments,
}

impl Distribution {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Rows, Self::Fragments];

    /// What it is called in text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Fragments => "fragments",
        }
    }

    /// Where the components of a matrix are that so many invocations hold.
    pub fn layout(self, m: MatType, holders: u32) -> Layout {
        let fragments = Layout::fragments(m);
        let fits = holders == LANES && fragments.registers() > 1 && !fragments.is_padded();
        match self {
            Self::Fragments if fits => fragments,
            Self::Rows | Self::Fragments => fragments.with(Kind::Rows { holders }),
        }
    }
}

/// How a matrix is spread over invocations: each has a number of places, *registers*, for elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Rows of the matrix.
    pub rows: u32,
    /// Columns of the matrix.
    pub cols: u32,
    /// Which element is where.
    pub kind: Kind,
}

/// Kinds of layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// That of a matrix unit, for [`LANES`] invocations.
    Fragments {
        /// Lines are columns.
        by_cols: bool,
        /// Consecutive elements of an invocation.
        width: u32,
    },
    /// Register `i` of invocation `l` is the row-major element `i * holders + l`.
    Rows {
        /// Invocations that hold the matrix.
        holders: u32,
    },
}

/// Arithmetic on numbers that are not negative.
pub trait Calc {
    /// A number.
    type N: Copy;
    /// Why it was not possible.
    type Error;

    /// `x + y`
    fn sum(&mut self, x: Self::N, y: Self::N) -> Result<Self::N, Self::Error>;
    /// `x * y`
    fn times(&mut self, x: Self::N, y: u32) -> Result<Self::N, Self::Error>;
    /// `x / y`, rounded down.
    fn quotient(&mut self, x: Self::N, y: u32) -> Result<Self::N, Self::Error>;
    /// `x % y`
    fn remainder(&mut self, x: Self::N, y: u32) -> Result<Self::N, Self::Error>;
}

/// Arithmetic on numbers that are known.
#[derive(Debug)]
pub struct Known;

impl Calc for Known {
    type N = u32;
    type Error = Infallible;

    fn sum(&mut self, x: u32, y: u32) -> Result<u32, Infallible> {
        Ok(x + y)
    }

    fn times(&mut self, x: u32, y: u32) -> Result<u32, Infallible> {
        Ok(x * y)
    }

    fn quotient(&mut self, x: u32, y: u32) -> Result<u32, Infallible> {
        Ok(x / y)
    }

    fn remainder(&mut self, x: u32, y: u32) -> Result<u32, Infallible> {
        Ok(x % y)
    }
}

impl Layout {
    /// The layout of a type in a matrix unit.
    pub fn fragments(m: MatType) -> Self {
        let word = 32_u32.checked_div(m.elem.bits()).unwrap_or(1).max(1);
        let width = match m.use_ {
            Use::A | Use::B => word,
            Use::Accumulator | Use::Any => word.max(2),
        };
        let kind = Kind::Fragments { by_cols: m.use_ == Use::B, width };
        Self { rows: m.rows, cols: m.cols, kind }
    }

    /// The same matrix in another layout.
    pub fn with(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Elements that an invocation holds, padding among them.
    pub fn registers(&self) -> u32 {
        match self.kind {
            Kind::Fragments { .. } => self.line_blocks() * self.steps() * self.width(),
            Kind::Rows { holders } => self.count().div_ceil(holders.into()) as u32,
        }
    }

    /// Invocations that hold it.
    pub fn holders(&self) -> u32 {
        match self.kind {
            Kind::Fragments { .. } => LANES,
            Kind::Rows { holders } => holders,
        }
    }

    /// Elements of the matrix.
    fn count(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.cols)
    }

    /// Consecutive elements of an invocation.
    pub fn width(&self) -> u32 {
        match self.kind {
            Kind::Fragments { width, .. } => width,
            Kind::Rows { .. } => 1,
        }
    }

    /// How many consecutive elements of an invocation share a word of 32 bits; those of more bits have one each.
    pub fn pack(&self, elem: Scalar) -> u32 {
        (32_u32.checked_div(elem.bits()).unwrap_or(1)).clamp(1, self.width())
    }

    /// Whether lines are columns.
    pub fn by_cols(&self) -> bool {
        matches!(self.kind, Kind::Fragments { by_cols: true, .. })
    }

    /// How many lines there are, and how long they are.
    pub fn lines(&self) -> (u32, u32) {
        if self.by_cols() { (self.cols, self.rows) } else { (self.rows, self.cols) }
    }

    /// Fragments across lines.
    pub fn line_blocks(&self) -> u32 {
        self.lines().0.div_ceil(GROUPS)
    }

    /// Fragments along a line.
    pub fn steps(&self) -> u32 {
        self.lines().1.div_ceil(GROUP * self.width())
    }

    /// Whether some registers of some invocations hold no element.
    pub fn is_padded(&self) -> bool {
        u64::from(self.registers()) * u64::from(self.holders()) != self.count()
    }

    /// Row and column of what a register of an invocation holds; of padding, some that the matrix does not have.
    ///
    /// # Errors
    ///
    /// Those of the arithmetic.
    pub fn place<C: Calc>(
        &self,
        c: &mut C,
        invocation: C::N,
        register: C::N,
    ) -> Result<(C::N, C::N), C::Error> {
        match self.kind {
            Kind::Fragments { by_cols, width } => {
                let block = c.quotient(register, self.steps() * width)?;
                let block = c.times(block, GROUPS)?;
                let line = c.quotient(invocation, GROUP)?;
                let line = c.sum(line, block)?;
                let step = c.quotient(register, width)?;
                let step = c.remainder(step, self.steps())?;
                let step = c.times(step, GROUP * width)?;
                let turn = c.remainder(invocation, GROUP)?;
                let turn = c.times(turn, width)?;
                let j = c.remainder(register, width)?;
                let along = c.sum(turn, j)?;
                let along = c.sum(step, along)?;
                Ok(if by_cols { (along, line) } else { (line, along) })
            }
            Kind::Rows { holders } => {
                let first = c.times(register, holders)?;
                let element = c.sum(first, invocation)?;
                Ok((c.quotient(element, self.cols)?, c.remainder(element, self.cols)?))
            }
        }
    }

    /// The invocation and the register that hold an element.
    ///
    /// # Errors
    ///
    /// Those of the arithmetic.
    pub fn holder<C: Calc>(&self, c: &mut C, row: C::N, col: C::N) -> Result<(C::N, C::N), C::Error> {
        match self.kind {
            Kind::Fragments { by_cols, width } => {
                let (line, along) = if by_cols { (col, row) } else { (row, col) };
                let group = c.remainder(line, GROUPS)?;
                let group = c.times(group, GROUP)?;
                let turn = c.quotient(along, width)?;
                let turn = c.remainder(turn, GROUP)?;
                let invocation = c.sum(group, turn)?;
                let block = c.quotient(line, GROUPS)?;
                let block = c.times(block, self.steps() * width)?;
                let step = c.quotient(along, GROUP * width)?;
                let step = c.times(step, width)?;
                let j = c.remainder(along, width)?;
                let register = c.sum(step, j)?;
                Ok((invocation, c.sum(block, register)?))
            }
            Kind::Rows { holders } => {
                let first = c.times(row, self.cols)?;
                let element = c.sum(first, col)?;
                Ok((c.remainder(element, holders)?, c.quotient(element, holders)?))
            }
        }
    }

    /// Row and column of what a register of an invocation holds, unless it is padding or there is none.
    pub fn element(&self, invocation: u32, register: u32) -> Option<(u32, u32)> {
        if register >= self.registers() {
            return None;
        }
        let Ok((row, col)) = self.place(&mut Known, invocation, register);
        (row < self.rows && col < self.cols).then_some((row, col))
    }

    /// The invocation and the register that hold an element.
    pub fn at(&self, row: u32, col: u32) -> (u32, u32) {
        let Ok(found) = self.holder(&mut Known, row, col);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Scope;

    fn types() -> impl Iterator<Item = MatType> {
        let shapes = [(16, 16), (8, 4), (3, 5), (64, 8), (1, 33), (24, 40)];
        let elems = [Scalar::I8, Scalar::F16, Scalar::F32, Scalar::F64];
        let uses = [Use::A, Use::B, Use::Accumulator, Use::Any];
        let of = move |((rows, cols), elem)| {
            uses.map(|use_| MatType { elem, scope: Scope::Subgroup, rows, cols, use_ })
        };
        shapes.into_iter().flat_map(move |shape| elems.map(|elem| (shape, elem))).flat_map(of)
    }

    #[test]
    fn each_element_has_one_place() {
        for m in types() {
            let fragments = Layout::fragments(m);
            for layout in
                [fragments, fragments.with(Kind::Rows { holders: 32 }), Distribution::Rows.layout(m, 7)]
            {
                let (mut elements, registers) = (0, layout.registers());
                for (invocation, register) in
                    (0..layout.holders()).flat_map(|l| (0..registers).map(move |r| (l, r)))
                {
                    let Some((row, col)) = layout.element(invocation, register) else { continue };
                    assert_eq!(layout.at(row, col), (invocation, register));
                    elements += 1;
                }
                assert_eq!(elements, m.len());
                assert_eq!(layout.is_padded(), u64::from(registers * layout.holders()) != elements);
                assert_eq!(layout.element(0, registers), None);
            }
        }
    }

    #[test]
    fn the_length_is_that_of_the_type_and_single_components_are_in_order() {
        for m in types() {
            for (distribution, holders) in [(Distribution::Rows, 16), (Distribution::Fragments, 32)] {
                let layout = distribution.layout(m, holders);
                assert_eq!(layout.registers(), m.components(holders));
                if layout.registers() == 1 {
                    assert_eq!(layout.kind, Kind::Rows { holders });
                }
            }
        }
    }

    #[test]
    fn fragments_are_for_their_lanes_and_without_padding() {
        let of = |rows, cols, elem, use_| MatType { elem, scope: Scope::Subgroup, rows, cols, use_ };
        let fragments = |m, holders| Distribution::Fragments.layout(m, holders) == Layout::fragments(m);
        assert!(fragments(of(16, 16, Scalar::F32, Use::Accumulator), 32));
        assert!(!fragments(of(16, 16, Scalar::F32, Use::Accumulator), 64));
        assert!(fragments(of(16, 16, Scalar::I8, Use::A), 32));
        // Accumulators of bytes are held in fours, 8 columns would be half of them.
        assert!(!fragments(of(16, 8, Scalar::I8, Use::Accumulator), 32));
        assert!(!fragments(of(9, 31, Scalar::I32, Use::Accumulator), 32));
    }
}
