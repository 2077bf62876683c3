//! Attributes of loads and stores through a tensor layout (SPV_NV_tensor_addressing).
//!
//! A layout and a view are not values: a front end takes them apart into `i32` operands, and what
//! their types say (number of dimensions, clamp mode, permutation) stands in the operation.

use crate::entities::Block;
use crate::op::MemFlags;

/// Most dimensions of a layout or a view.
pub const MAX_DIMS: usize = 5;

/// A load or store through a tensor layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorAccess {
    /// Dimensions of the layout, 1 to [`MAX_DIMS`]; dimension 0 is the outermost.
    pub dims: u8,
    /// What becomes of a coordinate outside of the tensor.
    pub clamp: Clamp,
    /// Bytes that an index of the tensor counts: an element, or what a decoding region reads.
    pub unit: u32,
    /// The view, if there is one.
    pub view: Option<TensorView>,
    /// Flags; of the accesses that the operation makes itself.
    pub flags: MemFlags,
}

/// A tensor view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorView {
    /// Dimensions, 1 to [`MAX_DIMS`].
    pub dims: u8,
    /// Whether the view has dimensions and strides of its own; otherwise those of the layout's span.
    pub has_dimensions: bool,
    /// Whether it may leave out some of the matrix: then the clip is among the operands, and a load has
    /// an object, which gives the elements that are left out.
    pub clips: bool,
    /// The dimension that comes at each place, the outermost place first; zeros behind the last.
    pub permutation: [u8; MAX_DIMS],
}

/// What becomes of a coordinate outside of the tensor. A store discards it, whatever the mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clamp {
    /// The element is unspecified, and so is what a store does to the tensor.
    Undefined,
    /// The element is the layout's clamp value.
    Constant,
    /// The nearest coordinate inside.
    ClampToEdge,
    /// The tensor repeats.
    Repeat,
    /// The tensor repeats and every other copy is mirrored, without repeating the elements at the
    /// edges.
    RepeatMirrored,
}

/// Where the operands of an access are that describe the tensor, counted from the first of them.
///
/// The layout's come first: dimension, stride, offset, span and block size of each dimension, then
/// the clamp value. Those of the view follow: dimension and stride of each of its dimensions if it has
/// them; if it clips, offset and span of the clip's rows, and of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorOperands {
    dims: usize,
    view_dims: usize,
    clips: bool,
}

impl TensorAccess {
    /// Where its operands are.
    pub fn operands(&self) -> TensorOperands {
        let view_dims = self.view.filter(|v| v.has_dimensions).map_or(0, |v| usize::from(v.dims));
        TensorOperands { dims: self.dims.into(), view_dims, clips: self.clips() }
    }

    /// Whether a view may leave out some of the matrix.
    pub fn clips(&self) -> bool {
        self.view.is_some_and(|v| v.clips)
    }
}

impl TensorOperands {
    /// Number of operands.
    pub fn count(&self) -> usize {
        5 * self.dims + 1 + 2 * self.view_dims + if self.clips { 4 } else { 0 }
    }

    /// Size of the tensor along a dimension.
    pub fn dimension(&self, d: usize) -> usize {
        d
    }

    /// Units from a coordinate (of blocks) to the next.
    pub fn stride(&self, d: usize) -> usize {
        self.dims + d
    }

    /// Where the region accessed begins; signed.
    pub fn offset(&self, d: usize) -> usize {
        2 * self.dims + d
    }

    /// Size of the region accessed.
    pub fn span(&self, d: usize) -> usize {
        3 * self.dims + d
    }

    /// Size of a block.
    pub fn block(&self, d: usize) -> usize {
        4 * self.dims + d
    }

    /// Bits of the elements that [`Clamp::Constant`] gives.
    pub fn clamp_value(&self) -> usize {
        5 * self.dims
    }

    /// Size of the view along one of its own dimensions.
    pub fn view_dimension(&self, d: usize) -> usize {
        5 * self.dims + 1 + d
    }

    /// Stride of one of the view's own dimensions.
    pub fn view_stride(&self, d: usize) -> usize {
        5 * self.dims + 1 + self.view_dims + d
    }

    /// The clip, of a view that has one: offset and span of rows, offset and span of columns.
    pub fn clip(&self) -> [usize; 4] {
        let first = 5 * self.dims + 1 + 2 * self.view_dims;
        [0, 1, 2, 3].map(|i| first + i)
    }
}

/// Which elements of a matrix a reduction combines; `docs/ir.md` states the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatReduceKind {
    /// Those of each row: an element of the result is the reduction of the row it is in.
    Row,
    /// Those of each column.
    Column,
    /// All of them.
    All,
    /// The four of each aligned square of 2 by 2.
    Square,
}

/// What an operation on whole matrices does for each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RegionKind {
    Map,
    Reduce,
    Decode,
}

/// The region of an operation: what is done, and where.
pub(crate) type Region = (RegionKind, Block);
