//! Which element of a matrix a register of a lane holds.
//!
//! The lanes of a warp hold a matrix as the operands of `mma.sync` are held (PTX ISA, *Matrix Fragments*): these are the
//! fragments of [`phalanx_ir::distribution`].
//!
//! A matrix of the work-group is shared out to a grid of warps ([`Share`]): each holds a block of an accumulator, all
//! columns of some rows of a left factor, and all rows of some columns of a right one. So what a warp multiplies it holds,
//! and factors are held by several warps alike.

use phalanx_ir::{MatType, Module, Scope, Use};

pub(super) use phalanx_ir::distribution::{Calc, GROUP, GROUPS, Kind, LANES, Layout};

/// Whether components of matrices of a type are the registers in which a warp holds them anyway.
pub(crate) fn has_components_in_registers(ir: &Module, m: MatType) -> bool {
    ir.layout(m) == Layout::fragments(m)
}

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
        let layout = Layout::fragments(m);
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
        self.has_full_cols(m) && self.layout.rows * self.warps.0 == m.rows
    }

    /// Whether no register of any warp stands for a column that a matrix lacks. Rows that it lacks are whole registers of some
    /// warps.
    pub(super) fn has_full_cols(&self, m: MatType) -> bool {
        !self.layout.is_padded() && self.layout.cols * self.warps.1 == m.cols
    }

    /// Whether a warp holds the same elements of a matrix with this share and of one with another.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let sides = |share: &Self| (share.layout.rows, share.layout.cols, share.warps);
        sides(self) == sides(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_ir::Scalar;

    fn layout(rows: u32, cols: u32, elem: Scalar, use_: Use) -> Layout {
        Layout::fragments(MatType { elem, scope: Scope::Subgroup, rows, cols, use_ })
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
}
