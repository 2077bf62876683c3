//! Loads and stores through tensor layouts and views (SPV_NV_tensor_addressing).
//!
//! The place of an element is computed by divisions, too many of them to do it for each. But the places of
//! neighbours rise evenly until a coordinate overflows into the next, so the access is done by blocks of lines
//! (rows, or columns if they are what is contiguous in memory). A block whose lines lie evenly in memory is a plain
//! load or store; every other line is put together in scratch memory, or scattered from there. [`walk`] says how far
//! things rise evenly, [`mod@line`] finds the blocks. What is plain as a whole is found by [`plain`].

pub(crate) mod line;
pub(crate) mod load;
mod plain;
pub(crate) mod store;
mod walk;

use crate::layout::TileLayout;

/// Most dimensions of a tensor or a view.
pub const MAX_DIMS: usize = 5;

/// As many lines as may share a word of a tile. Lines that are moved by way of scratch memory are so many at a time.
const ALIGN: usize = 4;

/// What becomes of a coordinate outside of the tensor. Stores leave memory alone, unless it is undefined.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub enum Clamp {
    /// Anything.
    Undefined,
    /// The clamp value.
    Constant,
    /// The nearest coordinate inside.
    ClampToEdge,
    /// The tensor repeats.
    Repeat,
    /// The tensor repeats, every other time mirrored, without repeating its edges.
    RepeatMirrored,
}

/// The static parameters of a load or store through a tensor layout.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub struct TensorAccess {
    /// Layout of the tile.
    pub layout: TileLayout,
    /// Bytes that an index of the tensor counts.
    pub unit: u32,
    /// Dimensions of the tensor, the outermost first.
    pub dims: u8,
    /// Dimensions of the view; 0 without one.
    pub view_dims: u8,
    /// Whether the view has dimensions and strides of its own; otherwise those of the span.
    pub has_dimensions: bool,
    /// What becomes of coordinates outside.
    pub clamp: Clamp,
    /// The view's dimension that comes at each place, the outermost place first.
    pub permutation: [u8; MAX_DIMS],
    /// Zeros.
    pub padding: [u8; 3],
}

impl TensorAccess {
    /// Bytes of scratch memory that the access needs: room for a block of lines.
    #[must_use]
    pub const fn scratch_bytes(&self) -> usize {
        let (rows, cols) = (self.layout.rows as usize, self.layout.cols as usize);
        let longest = if rows > cols { rows } else { cols };
        ALIGN * longest * self.layout.elem.bytes()
    }
}

/// What an access is told at run time about the tensor and the view. What has no meaning for it is ignored.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
pub struct TensorWords {
    /// Size of the tensor along each dimension.
    pub dimension: [u32; MAX_DIMS],
    /// Units from a coordinate (of blocks) to the next.
    pub stride: [u32; MAX_DIMS],
    /// Where the region accessed begins; signed.
    pub offset: [u32; MAX_DIMS],
    /// Size of the region accessed.
    pub span: [u32; MAX_DIMS],
    /// Sizes of a block.
    pub block: [u32; MAX_DIMS],
    /// The bits of the clamp value, in the element type.
    pub clamp_value: u32,
    /// Size of the view along each of its own dimensions.
    pub view_dimension: [u32; MAX_DIMS],
    /// Strides of the view's own dimensions.
    pub view_stride: [u32; MAX_DIMS],
    /// With a view: offset and span of the rows that are accessed, offset and span of the columns.
    pub clip: [u32; 4],
}

/// The memory that an access is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// Where the object begins.
    pub(crate) base: *mut u8,
    /// Its bytes.
    pub(crate) size: u64,
    /// Where the tensor begins in it, in bytes.
    pub(crate) offset: u64,
}
