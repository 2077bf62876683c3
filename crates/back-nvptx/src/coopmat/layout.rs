//! Which element of a matrix a register of a lane holds.
//!
//! The lanes of a warp hold a matrix as the operands of `mma.sync` are held (PTX ISA, *Matrix Fragments*). The matrix is
//! a list of *lines*: rows of a left factor or an accumulator, columns of a right factor, so that lines of both factors
//! run along K. Eight lines are eight groups of four lanes; the lanes of a group take turns along the line, with `width`
//! consecutive elements each:
//!
//! ```text
//! width 2      along the line →
//! line 0       l0 l0 l1 l1 l2 l2 l3 l3 | l0 l0 …        register = (line / 8 * steps + step) * width + j
//! line 1       l4 l4 l5 l5 …
//! …
//! line 8       l0 l0 …
//! ```
//!
//! So an accumulator and a left factor of 16 bits lie alike, and a left factor lies as its transpose does as a right one.
//! A matrix whose sides are no multiples of a fragment's has padding, of which nothing is known.
//!
//! A matrix of the work-group is shared out to a grid of warps ([`Share`]): each holds a block of an accumulator, all
//! columns of some rows of a left factor, and all rows of some columns of a right one. So what a warp multiplies it holds,
//! and factors are held by several warps alike.

use phalanx_emit_llvm::Result;
use phalanx_ir::{MatType, Scalar, Scope, Use};

/// Lanes of a warp.
pub(super) const LANES: u32 = 32;
/// Groups of lanes, one for each of so many lines.
const GROUPS: u32 = 8;
/// Lanes of a group.
const GROUP: u32 = 4;

/// What rows and columns of a matrix that is shared out are held in multiples of.
const BLOCK: u32 = 16;

/// The warps of a work-group, as a grid: warp `w` is at `(w / columns, w % columns)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) warps: u32,
    pub(super) columns: u32,
}

impl Grid {
    /// A grid of so many warps, nearly as wide as it is high; or one above the other, so that each holds whole rows.
    pub(super) fn new(warps: u32, has_whole_rows: bool) -> Self {
        let fits = |n: &u32| n * n <= warps && warps.is_multiple_of(*n) && !has_whole_rows;
        let columns = (1..).map(|i| 1 << i).take_while(fits).last().unwrap_or(1);
        Self { warps, columns }
    }
}

/// The part of a matrix that a warp holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// How it holds it; rows and columns are those of the part.
    pub(super) layout: Layout,
    /// Warps along rows and along columns; 1 where all hold everything.
    pub(super) warps: (u32, u32),
}

impl Share {
    /// The part of a matrix of a type that each warp of a work-group holds.
    pub(super) fn of(m: MatType, grid: Grid) -> Self {
        let layout = Layout::of(m);
        if m.scope != Scope::Workgroup || grid.warps == 1 {
            return Self { layout, warps: (1, 1) };
        }
        let Grid { warps, columns } = grid;
        let warps = match m.use_ {
            Use::A => (warps / columns, 1),
            Use::B => (1, columns),
            Use::Accumulator | Use::Any => (warps / columns, columns),
        };
        let part = |side: u32, warps: u32| match warps {
            1 => side,
            _ => side.div_ceil(BLOCK * warps) * BLOCK,
        };
        let layout = Layout { rows: part(m.rows, warps.0), cols: part(m.cols, warps.1), ..layout };
        Self { layout, warps }
    }

    /// Whether no register of any warp is padding.
    pub(super) fn is_full(&self, m: MatType) -> bool {
        let Layout { rows, cols, .. } = self.layout;
        !self.layout.is_padded() && (rows * self.warps.0, cols * self.warps.1) == (m.rows, m.cols)
    }

    /// Whether a warp holds the same elements of a matrix with this share and of one with another.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let sides = |share: &Self| (share.layout.rows, share.layout.cols, share.warps);
        sides(self) == sides(other)
    }
}

/// How a matrix is spread over the lanes of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) rows: u32,
    pub(super) cols: u32,
    pub(super) kind: Kind,
}

/// Kinds of layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// That of operands of `mma.sync`.
    Fragments {
        /// Lines are columns.
        by_cols: bool,
        /// Consecutive elements of a lane.
        width: u32,
    },
    /// Register `i` of lane `l` is the row-major element `i * 32 + l`: what the IR calls components.
    Components,
}

/// Arithmetic on numbers that are not negative: of the compiler, or of the code that it makes.
pub(super) trait Calc {
    /// A number.
    type N: Copy;

    fn sum(&mut self, x: Self::N, y: Self::N) -> Result<Self::N>;
    fn times(&mut self, x: Self::N, y: u32) -> Result<Self::N>;
    fn quotient(&mut self, x: Self::N, y: u32) -> Result<Self::N>;
    fn remainder(&mut self, x: Self::N, y: u32) -> Result<Self::N>;
}

/// The compiler's own arithmetic.
pub(super) struct Now;

impl Calc for Now {
    type N = u32;

    fn sum(&mut self, x: u32, y: u32) -> Result<u32> {
        Ok(x + y)
    }

    fn times(&mut self, x: u32, y: u32) -> Result<u32> {
        Ok(x * y)
    }

    fn quotient(&mut self, x: u32, y: u32) -> Result<u32> {
        Ok(x / y)
    }

    fn remainder(&mut self, x: u32, y: u32) -> Result<u32> {
        Ok(x % y)
    }
}

impl Layout {
    /// The layout of a type.
    pub(super) fn of(m: MatType) -> Self {
        let word = 32_u32.checked_div(m.elem.bits()).unwrap_or(1).max(1);
        let width = match m.use_ {
            Use::A | Use::B => word,
            Use::Accumulator | Use::Any => word.max(2),
        };
        let kind = Kind::Fragments { by_cols: m.use_ == Use::B, width };
        Self { rows: m.rows, cols: m.cols, kind }
    }

    /// The same matrix in another layout.
    pub(super) fn with(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// Elements that a lane holds.
    pub(super) fn registers(&self) -> u32 {
        match self.kind {
            Kind::Fragments { .. } => self.line_blocks() * self.steps() * self.width(),
            Kind::Components => (self.rows * self.cols).div_ceil(LANES),
        }
    }

    /// How many of a lane's elements share a word of 32 bits; those of more bits have one each.
    pub(super) fn pack(&self, elem: Scalar) -> u32 {
        (32_u32.checked_div(elem.bits()).unwrap_or(1)).clamp(1, self.width())
    }

    /// Consecutive elements of a lane.
    pub(super) fn width(&self) -> u32 {
        match self.kind {
            Kind::Fragments { width, .. } => width,
            Kind::Components => 1,
        }
    }

    /// Whether lines are columns.
    pub(super) fn by_cols(&self) -> bool {
        matches!(self.kind, Kind::Fragments { by_cols: true, .. })
    }

    /// How many lines there are, and how long they are.
    pub(super) fn lines(&self) -> (u32, u32) {
        if self.by_cols() { (self.cols, self.rows) } else { (self.rows, self.cols) }
    }

    /// Fragments across lines.
    pub(super) fn line_blocks(&self) -> u32 {
        self.lines().0.div_ceil(GROUPS)
    }

    /// Fragments along a line.
    pub(super) fn steps(&self) -> u32 {
        self.lines().1.div_ceil(GROUP * self.width())
    }

    /// Whether some registers of some lanes hold no element.
    pub(super) fn is_padded(&self) -> bool {
        self.registers() * LANES != self.rows * self.cols
    }

    /// Row and column of what a register of a lane holds; of padding, some that the matrix does not have.
    pub(super) fn place<C: Calc>(&self, c: &mut C, lane: C::N, register: C::N) -> Result<(C::N, C::N)> {
        match self.kind {
            Kind::Fragments { by_cols, width } => {
                let block = c.quotient(register, self.steps() * width)?;
                let block = c.times(block, GROUPS)?;
                let line = c.quotient(lane, GROUP)?;
                let line = c.sum(line, block)?;
                let step = c.quotient(register, width)?;
                let step = c.remainder(step, self.steps())?;
                let step = c.times(step, GROUP * width)?;
                let turn = c.remainder(lane, GROUP)?;
                let turn = c.times(turn, width)?;
                let j = c.remainder(register, width)?;
                let along = c.sum(turn, j)?;
                let along = c.sum(step, along)?;
                Ok(if by_cols { (along, line) } else { (line, along) })
            }
            Kind::Components => {
                let first = c.times(register, LANES)?;
                let element = c.sum(first, lane)?;
                Ok((c.quotient(element, self.cols)?, c.remainder(element, self.cols)?))
            }
        }
    }

    /// The lane and the register that hold an element.
    pub(super) fn holder<C: Calc>(&self, c: &mut C, row: C::N, col: C::N) -> Result<(C::N, C::N)> {
        match self.kind {
            Kind::Fragments { by_cols, width } => {
                let (line, along) = if by_cols { (col, row) } else { (row, col) };
                let group = c.remainder(line, GROUPS)?;
                let group = c.times(group, GROUP)?;
                let turn = c.quotient(along, width)?;
                let turn = c.remainder(turn, GROUP)?;
                let lane = c.sum(group, turn)?;
                let block = c.quotient(line, GROUPS)?;
                let block = c.times(block, self.steps() * width)?;
                let step = c.quotient(along, GROUP * width)?;
                let step = c.times(step, width)?;
                let j = c.remainder(along, width)?;
                let register = c.sum(step, j)?;
                Ok((lane, c.sum(block, register)?))
            }
            Kind::Components => {
                let first = c.times(row, self.cols)?;
                let element = c.sum(first, col)?;
                Ok((c.remainder(element, LANES)?, c.quotient(element, LANES)?))
            }
        }
    }

    /// Row and column of what a register of a lane holds, unless it is padding.
    pub(super) fn element(&self, lane: u32, register: u32) -> Option<(u32, u32)> {
        let (row, col) = self.place(&mut Now, lane, register).ok()?;
        (row < self.rows && col < self.cols).then_some((row, col))
    }

    /// The lane and the register that hold an element.
    pub(super) fn at(&self, row: u32, col: u32) -> Option<(u32, u32)> {
        self.holder(&mut Now, row, col).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_ir::Scope;

    fn layout(rows: u32, cols: u32, elem: Scalar, use_: Use) -> Layout {
        Layout::of(MatType { elem, scope: Scope::Subgroup, rows, cols, use_ })
    }

    /// The formulas of the PTX ISA, *Matrix Fragments for mma.m16n8k16 with floating point type*, with `i` the number
    /// of an element in the operand.
    #[test]
    fn halves_lie_as_operands_of_m16n8k16() {
        let (a, b) = (layout(16, 16, Scalar::F16, Use::A), layout(16, 8, Scalar::F16, Use::B));
        let c = layout(16, 8, Scalar::F32, Use::Accumulator);
        for lane in 0..LANES {
            let (group, thread) = (lane >> 2, lane % 4);
            for i in 0..8 {
                // Registers a0a1, a2a3, a4a5, a6a7 of the instruction are blocks and steps (0,0), (1,0), (0,1), (1,1).
                let (word, j) = (i / 2, i % 2);
                let ours = ((word % 2) * 2 + word / 2) * 2 + j;
                let row = if word % 2 == 0 { group } else { group + 8 };
                let col = thread * 2 + (i & 1) + if i >= 4 { 8 } else { 0 };
                assert_eq!(a.element(lane, ours), Some((row, col)));
            }
            for i in 0..4 {
                let row = thread * 2 + (i & 1) + if i >= 2 { 8 } else { 0 };
                assert_eq!(b.element(lane, i), Some((row, group)));
                let row = if i < 2 { group } else { group + 8 };
                assert_eq!(c.element(lane, i), Some((row, thread * 2 + (i & 1))));
            }
        }
    }

    /// *Matrix Fragments for mma.m16n8k32*, bytes; *for mma.m8n8k4 with .f64*.
    #[test]
    fn bytes_and_doubles_lie_as_operands() {
        let (a, b) = (layout(16, 32, Scalar::I8, Use::A), layout(32, 8, Scalar::I8, Use::B));
        let (x, y) = (layout(8, 4, Scalar::F64, Use::A), layout(4, 8, Scalar::F64, Use::B));
        let z = layout(8, 8, Scalar::F64, Use::Accumulator);
        for lane in 0..LANES {
            let (group, thread) = (lane >> 2, lane % 4);
            for i in 0..16 {
                let (word, j) = (i / 4, i % 4);
                let ours = ((word % 2) * 2 + word / 2) * 4 + j;
                let row = if word % 2 == 0 { group } else { group + 8 };
                let col = thread * 4 + (i & 3) + if i >= 8 { 16 } else { 0 };
                assert_eq!(a.element(lane, ours), Some((row, col)));
            }
            for i in 0..8 {
                let row = thread * 4 + (i & 3) + if i >= 4 { 16 } else { 0 };
                assert_eq!(b.element(lane, i), Some((row, group)));
            }
            assert_eq!(x.element(lane, 0), Some((group, thread)));
            assert_eq!(y.element(lane, 0), Some((thread, group)));
            assert_eq!(z.element(lane, 1), Some((group, thread * 2 + 1)));
        }
    }

    #[test]
    fn a_work_group_shares_matrices_out() {
        let m = |rows, cols, use_| MatType { elem: Scalar::F16, scope: Scope::Workgroup, rows, cols, use_ };
        let part = |m, warps| {
            let share = Share::of(m, Grid::new(warps, false));
            (share.layout.rows, share.layout.cols, share.warps)
        };
        assert_eq!(part(m(128, 128, Use::Accumulator), 8), (32, 64, (4, 2)));
        assert_eq!(part(m(128, 40, Use::A), 8), (32, 40, (4, 1)));
        assert_eq!(part(m(40, 128, Use::B), 8), (40, 64, (1, 2)));
        assert_eq!(part(m(24, 8, Use::Accumulator), 4), (16, 16, (2, 2)));
        assert_eq!(part(m(64, 64, Use::Accumulator), 3), (32, 64, (3, 1)));
        assert_eq!(part(m(64, 64, Use::Accumulator), 1), (64, 64, (1, 1)));
        let rows = Share::of(m(64, 64, Use::Accumulator), Grid::new(4, true));
        assert_eq!((rows.layout.cols, rows.warps), (64, (4, 1)));
        assert!(rows.is_like(&Share::of(m(64, 64, Use::A), Grid::new(4, true))));
    }

    #[test]
    fn each_element_has_one_place() {
        for (rows, cols) in [(16, 16), (8, 4), (3, 5), (64, 8), (1, 33), (24, 40)] {
            for elem in [Scalar::I8, Scalar::F16, Scalar::F32, Scalar::F64] {
                for use_ in [Use::A, Use::B, Use::Accumulator, Use::Any] {
                    let of_type = layout(rows, cols, elem, use_);
                    for l in [of_type, of_type.with(Kind::Components)] {
                        let mut elements = 0;
                        for (lane, register) in
                            (0..LANES).flat_map(|lane| (0..l.registers()).map(move |r| (lane, r)))
                        {
                            let Some((row, col)) = l.element(lane, register) else { continue };
                            assert_eq!(l.at(row, col), Some((lane, register)));
                            elements += 1;
                        }
                        assert_eq!(elements, rows * cols);
                        assert_eq!(l.is_padded(), l.registers() * LANES != elements);
                    }
                }
            }
        }
    }
}
