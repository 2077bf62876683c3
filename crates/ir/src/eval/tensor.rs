//! Which element of a tensor an element of a matrix is: the pseudo-code of SPV_NV_tensor_addressing
//! and SPV_NV_cooperative_matrix2, "Tensor Layout and View", word for word where it is right.
//!
//! Of the mirrored clamp mode it is not: `(c >= dim) ? (2*dim-2-c) : c` names the loop's counter where
//! the size of the dimension is meant.

use crate::tensor::{Clamp, MAX_DIMS, TensorAccess, TensorOperands, TensorView};

/// A coordinate for each dimension; zeros behind the last.
pub type Coord = [u32; MAX_DIMS];

/// The state of a tensor layout, and of a tensor view if the access has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorState {
    access: TensorAccess,
    operands: TensorOperands,
    words: Vec<u32>,
}

/// Where an element of a matrix comes from or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorPlace {
    /// Outside of the clip: the load or store is skipped.
    Clipped,
    /// Outside of the tensor: the clamp value, or the store is discarded.
    Outside,
    /// In the tensor.
    Inside {
        /// The coordinates of the element.
        coord: Coord,
        /// The block.
        block: Coord,
        /// The coordinates in the block.
        in_block: Coord,
        /// Whether the clamp mode has moved it there.
        is_clamped: bool,
    },
}

/// The strides that *OpTensorLayoutSetDimensionNV* sets: those of a tensor whose blocks lie row by row.
pub fn packed_strides(sizes: &[u32], blocks: &[u32]) -> Vec<u32> {
    let mut strides = vec![1_u32; sizes.len()];
    for d in (1..sizes.len()).rev() {
        let blocks = if blocks[d] == 0 { 0 } else { sizes[d].div_ceil(blocks[d]) };
        strides[d - 1] = strides[d].wrapping_mul(blocks);
    }
    strides
}

/// `x % y`; no memory is named by a dimension without size, so that any value will do.
fn modulo(x: u32, y: u32) -> u32 {
    x.checked_rem(y).unwrap_or(0)
}

fn divide(x: u32, y: u32) -> u32 {
    x.checked_div(y).unwrap_or(0)
}

/// *OpSMod*: the remainder has the sign of the divisor.
fn smod(x: i32, y: i32) -> i32 {
    let remainder = x.checked_rem(y).unwrap_or(0);
    if remainder != 0 && (remainder < 0) != (y < 0) { remainder.wrapping_add(y) } else { remainder }
}

impl TensorState {
    /// The state that the operands of an access describe. Missing ones are zero.
    pub fn new(access: TensorAccess, mut words: Vec<u32>) -> Self {
        let operands = access.operands();
        words.resize(operands.count(), 0);
        Self { access, operands, words }
    }

    /// The element that [`Clamp::Constant`] gives: its low bits.
    pub fn clamp_value(&self) -> u32 {
        self.word(self.operands.clamp_value())
    }

    fn dims(&self) -> usize {
        usize::from(self.access.dims).min(MAX_DIMS)
    }

    fn word(&self, i: usize) -> u32 {
        self.words[i]
    }

    fn span(&self, dim: usize) -> u32 {
        self.word(self.operands.span(dim))
    }

    /// *matrixCoordToLinear*; none if the element is clipped.
    fn matrix_coord_to_linear(&self, mut row: u32, mut col: u32, n: u32) -> Option<u32> {
        let mut width = n;
        if self.access.clips() {
            let [row_offset, row_span, col_offset, col_span] = self.operands.clip().map(|i| self.word(i));
            if row < row_offset
                || row >= row_offset.wrapping_add(row_span)
                || col < col_offset
                || col >= col_offset.wrapping_add(col_span)
            {
                return None;
            }
            row -= row_offset;
            col -= col_offset;
            width = n.min(col_span);
        }
        Some(row.wrapping_mul(width).wrapping_add(col))
    }

    /// *linearToViewCoord*.
    fn linear_to_view_coord(&self, v: &TensorView, mut index: u32) -> Coord {
        let mut coord = Coord::default();
        for dim in (0..usize::from(v.dims)).rev() {
            let i = usize::from(v.permutation[dim]);
            let size =
                if v.has_dimensions { self.word(self.operands.view_dimension(i)) } else { self.span(i) };
            coord[i] = modulo(index, size);
            index = divide(index, size);
        }
        coord
    }

    /// *viewCoordToLinear*.
    fn view_coord_to_linear(&self, v: &TensorView, coord: Coord) -> u32 {
        let dims = usize::from(v.dims);
        let mut stride = Coord::default();
        stride[dims - 1] = 1;
        if v.has_dimensions {
            (0..dims).for_each(|dim| stride[dim] = self.word(self.operands.view_stride(dim)));
        } else {
            for dim in (0..dims - 1).rev() {
                stride[dim] = stride[dim + 1].wrapping_mul(self.span(dim + 1));
            }
        }
        (0..dims).fold(0, |index, dim| index.wrapping_add(coord[dim].wrapping_mul(stride[dim])))
    }

    /// *linearToSpanCoord*.
    fn linear_to_span_coord(&self, mut index: u32) -> Coord {
        let mut coord = Coord::default();
        for dim in (0..self.dims()).rev() {
            coord[dim] = modulo(index, self.span(dim));
            index = divide(index, self.span(dim));
        }
        coord
    }

    /// *spanCoordToTensorCoord*.
    fn span_coord_to_tensor_coord(&self, span_coord: Coord, is_store: bool) -> TensorPlace {
        let [mut coord, mut block, mut in_block] = [Coord::default(); 3];
        let mut is_clamped = false;
        for dim in 0..self.dims() {
            let offset = self.word(self.operands.offset(dim));
            let mut c = span_coord[dim].wrapping_add(offset).cast_signed();
            let size = self.word(self.operands.dimension(dim));
            if c < 0 || c.cast_unsigned() >= size {
                is_clamped = true;
                let size = size.cast_signed();
                c = match self.access.clamp {
                    // Without a mode anything may happen; what happens is harmless.
                    Clamp::Undefined | Clamp::Constant => return TensorPlace::Outside,
                    _ if is_store => return TensorPlace::Outside,
                    Clamp::ClampToEdge => c.max(0).min(size.wrapping_sub(1)),
                    Clamp::Repeat => smod(c, size),
                    Clamp::RepeatMirrored => {
                        let period = size.wrapping_mul(2).wrapping_sub(2);
                        let c = smod(c, period);
                        if c >= size { period.wrapping_sub(c) } else { c }
                    }
                };
            }
            let size = self.word(self.operands.block(dim));
            coord[dim] = c.cast_unsigned();
            in_block[dim] = modulo(c.cast_unsigned(), size);
            block[dim] = divide(c.cast_unsigned(), size);
        }
        TensorPlace::Inside { coord, block, in_block, is_clamped }
    }

    /// *tensorCoordToLinear*: counts what the access's `unit` has the bytes of. The result has 64 bits, as
    /// "64-Bit Indexing" of the Vulkan specification wants it; without that, it must not wrap at 32 anyway.
    pub fn index(&self, block: Coord) -> u64 {
        (0..self.dims()).fold(0, |index: u64, dim| {
            let stride = self.word(self.operands.stride(dim));
            index.wrapping_add(u64::from(block[dim]) * u64::from(stride))
        })
    }

    /// *matrixCoordToTensorElement* and *matrixCoordToTensorElementWithView*, up to the coordinates:
    /// where an element of a matrix of `cols` columns is.
    pub fn place(&self, row: u32, col: u32, cols: u32, is_store: bool) -> TensorPlace {
        let Some(mut index) = self.matrix_coord_to_linear(row, col, cols) else {
            return TensorPlace::Clipped;
        };
        if let Some(v) = &self.access.view {
            let coord = self.linear_to_view_coord(v, index);
            index = self.view_coord_to_linear(v, coord);
        }
        self.span_coord_to_tensor_coord(self.linear_to_span_coord(index), is_store)
    }
}
