//! Operations on the elements of tiles: arithmetic, conversion, rotation, access to components.

pub(crate) mod arith;
pub(crate) mod component;
pub(crate) mod convert;
pub(crate) mod rotate;
pub(crate) mod run;

use crate::elem::{Elem, Use};
use crate::layout::TileLayout;

/// Parameters of operations between tiles of one layout.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub struct ElementParams {
    /// The layout of every operand and of the result.
    pub layout: TileLayout,
}

impl ElementParams {
    /// Parameters for this layout.
    #[must_use]
    pub const fn new(layout: TileLayout) -> Self {
        Self { layout }
    }
}

/// Parameters of the operations that know lanes: component `i` of lane `l` is element `i * subgroup + l` of the
/// matrix in row-major order, or nothing when there are fewer.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub struct ComponentParams {
    /// The layout of the tile.
    pub layout: TileLayout,
    /// Lanes of the subgroup.
    pub subgroup: u32,
}

impl ComponentParams {
    /// Parameters for a matrix of this layout in a subgroup of this many lanes, at least one.
    #[must_use]
    pub const fn new(layout: TileLayout, subgroup: u32) -> Self {
        Self { layout, subgroup }
    }

    /// Components of each lane.
    #[must_use]
    pub const fn length(&self) -> u32 {
        (self.layout.rows * self.layout.cols).div_ceil(self.subgroup)
    }
}

/// Parameters of a conversion between matrices of one size.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub struct ConvertParams {
    /// Layout of the operand.
    pub from: TileLayout,
    /// Layout of the result.
    pub to: TileLayout,
    /// Integer operands are sign-extended.
    pub from_signed: bool,
    /// Floats become signed integers.
    pub to_signed: bool,
    /// Values beyond the range of an 8-bit float become its largest value.
    pub saturate_fp8: bool,
    zero: u8,
}

impl ConvertParams {
    /// Parameters of a conversion.
    #[must_use]
    pub const fn new(
        from: TileLayout,
        to: TileLayout,
        from_signed: bool,
        to_signed: bool,
        saturate_fp8: bool,
    ) -> Self {
        Self { from, to, from_signed, to_signed, saturate_fp8, zero: 0 }
    }
}

/// The layout of `cols` elements in a row as they lie in user memory.
#[inline(always)]
pub(crate) const fn native_row(elem: Elem, cols: u32) -> TileLayout {
    TileLayout { rows: 1, cols, ld: cols, elem, storage: elem, interleave: 1, use_: Use::Any }
}

/// Zeroes the padding along the inner dimension of an A or B tile.
///
/// # Safety
/// `tile` is writable and of this layout.
#[inline(always)]
pub(crate) unsafe fn zero_padding(layout: &TileLayout, tile: *mut u8) {
    if !layout.has_zero_padding() {
        return;
    }
    let (rows, cols, ld) = (layout.rows as usize, layout.cols as usize, layout.ld as usize);
    let size = layout.storage.bytes();
    // SAFETY: padding lies inside the tile.
    unsafe {
        if layout.use_ == Use::A {
            for row in 0..rows {
                tile.add(layout.offset(row, cols)).write_bytes(0, (ld - cols) * size);
            }
        } else {
            for row in rows..rows.next_multiple_of(usize::from(layout.interleave)) {
                for col in 0..ld {
                    tile.add(layout.offset(row, col)).write_bytes(0, size);
                }
            }
        }
    }
}
