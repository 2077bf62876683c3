//! The pseudo-code of SPV_NV_cooperative_matrix2, "Tensor Layout and View", and what the instructions of
//! SPV_NV_tensor_addressing set, transcribed function by function under its names. It shares nothing with the
//! library, whose oracle it is.
//!
//! Two slips of the document are put right: the mirrored clamp mode means the size of the dimension where it names
//! the loop's counter, and a period of 0 (a dimension of 1) gives the coordinate 0.

pub(crate) const MAX_DIM: usize = 5;

pub(crate) type Coord = [u32; MAX_DIM];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClampMode {
    Undefined,
    Constant,
    ClampToEdge,
    Repeat,
    MirrorRepeat,
}

#[derive(Clone, Debug)]
pub(crate) struct TensorLayout {
    pub(crate) l_dim: usize,
    pub(crate) clamp_mode: ClampMode,
    pub(crate) block_size: Coord,
    pub(crate) layout_dimension: Coord,
    pub(crate) stride: Coord,
    pub(crate) offset: [i32; MAX_DIM],
    pub(crate) span: Coord,
    pub(crate) clamp_value: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct TensorView {
    pub(crate) v_dim: usize,
    pub(crate) has_dimensions: bool,
    pub(crate) permutation: [usize; MAX_DIM],
    pub(crate) view_dimension: Coord,
    pub(crate) view_stride: Coord,
    pub(crate) clip_row_offset: u32,
    pub(crate) clip_row_span: u32,
    pub(crate) clip_col_offset: u32,
    pub(crate) clip_col_span: u32,
}

/// How an index calculation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// "Load or store is skipped."
    Skipped,
    /// "Set result value to t.clampValue", "discard the store".
    ClampValue,
    /// "Undefined behavior."
    Undefined,
    At {
        index: u64,
        block_coord: Coord,
        coord_in_block: Coord,
    },
}

impl TensorLayout {
    /// *OpCreateTensorLayoutNV*.
    pub(crate) fn create(l_dim: usize, clamp_mode: ClampMode) -> Self {
        Self {
            l_dim,
            clamp_mode,
            block_size: [1; MAX_DIM],
            layout_dimension: [0; MAX_DIM],
            stride: [0; MAX_DIM],
            offset: [0; MAX_DIM],
            span: [0; MAX_DIM],
            clamp_value: 0,
        }
    }

    /// *OpTensorLayoutSetBlockSizeNV*.
    pub(crate) fn set_block_size(&mut self, size: &[u32]) {
        self.block_size[..self.l_dim].copy_from_slice(size);
    }

    /// *OpTensorLayoutSetDimensionNV*.
    pub(crate) fn set_dimension(&mut self, dim: &[u32]) {
        self.layout_dimension[..self.l_dim].copy_from_slice(dim);
        self.span = self.layout_dimension;
        self.offset = [0; MAX_DIM];
        self.stride[self.l_dim - 1] = 1;
        for i in (0..self.l_dim - 1).rev() {
            let blocks = self.layout_dimension[i + 1].div_ceil(self.block_size[i + 1]);
            self.stride[i] = self.stride[i + 1] * blocks;
        }
    }

    /// *OpTensorLayoutSetStrideNV*.
    pub(crate) fn set_stride(&mut self, stride: &[u32]) {
        self.stride[..self.l_dim].copy_from_slice(stride);
    }

    /// *OpTensorLayoutSliceNV*.
    pub(crate) fn slice(&mut self, offset: &[i32], span: &[u32]) {
        for (dim, (&offset, &span)) in offset.iter().zip(span).enumerate() {
            self.offset[dim] += offset;
            self.span[dim] = span;
        }
    }
}

impl TensorView {
    /// *OpCreateTensorViewNV*.
    pub(crate) fn create(v_dim: usize, has_dimensions: bool, permutation: [usize; MAX_DIM]) -> Self {
        Self {
            v_dim,
            has_dimensions,
            permutation,
            view_dimension: [0; MAX_DIM],
            view_stride: [0; MAX_DIM],
            clip_row_offset: 0,
            clip_row_span: 0xffff_ffff,
            clip_col_offset: 0,
            clip_col_span: 0xffff_ffff,
        }
    }

    /// *OpTensorViewSetDimensionNV*.
    pub(crate) fn set_dimension(&mut self, dim: &[u32]) {
        self.view_dimension[..self.v_dim].copy_from_slice(dim);
        self.view_stride[self.v_dim - 1] = 1;
        for i in (0..self.v_dim - 1).rev() {
            self.view_stride[i] = self.view_stride[i + 1] * self.view_dimension[i + 1];
        }
    }

    /// *OpTensorViewSetStrideNV*.
    pub(crate) fn set_stride(&mut self, stride: &[u32]) {
        self.view_stride[..self.v_dim].copy_from_slice(stride);
    }

    /// *OpTensorViewSetClipNV*.
    pub(crate) fn set_clip(&mut self, [row_offset, row_span, col_offset, col_span]: [u32; 4]) {
        self.clip_row_offset = row_offset;
        self.clip_row_span = row_span;
        self.clip_col_offset = col_offset;
        self.clip_col_span = col_span;
    }
}

fn matrix_coord_to_linear(row: u32, col: u32, n: u32) -> u32 {
    row.wrapping_mul(n).wrapping_add(col)
}

fn matrix_coord_to_linear_with_view(v: &TensorView, mut row: u32, mut col: u32, n: u32) -> Option<u32> {
    if row < v.clip_row_offset
        || row >= v.clip_row_offset.wrapping_add(v.clip_row_span)
        || col < v.clip_col_offset
        || col >= v.clip_col_offset.wrapping_add(v.clip_col_span)
    {
        return None;
    }
    row -= v.clip_row_offset;
    col -= v.clip_col_offset;
    let width = n.min(v.clip_col_span);
    Some(row.wrapping_mul(width).wrapping_add(col))
}

fn linear_to_span_coord(t: &TensorLayout, mut index: u32) -> Coord {
    let mut span_coord = [0; MAX_DIM];
    let mut dim = t.l_dim as i32 - 1;
    while dim >= 0 {
        span_coord[dim as usize] = index % t.span[dim as usize];
        index /= t.span[dim as usize];
        dim -= 1;
    }
    span_coord
}

/// "Remainders are computed as defined in OpSMod": the sign is that of the second operand.
fn s_mod(x: i32, y: i32) -> i32 {
    if y == 0 { 0 } else { (x % y + y) % y }
}

fn span_coord_to_tensor_coord(
    t: &TensorLayout,
    span_coord: Coord,
    is_store: bool,
) -> Result<(Coord, Coord), Element> {
    let mut block_coord = [0; MAX_DIM];
    let mut coord_in_block = [0; MAX_DIM];
    for dim in 0..t.l_dim {
        let mut c = span_coord[dim] as i32 + t.offset[dim];
        let size = t.layout_dimension[dim] as i32;
        if c < 0 || c >= size {
            let mut clamp_mode = t.clamp_mode;
            if is_store && clamp_mode != ClampMode::Undefined {
                clamp_mode = ClampMode::Constant;
            }
            match clamp_mode {
                ClampMode::Undefined => return Err(Element::Undefined),
                ClampMode::Constant => return Err(Element::ClampValue),
                ClampMode::ClampToEdge => c = c.max(0).min(size - 1),
                ClampMode::Repeat => c = s_mod(c, size),
                ClampMode::MirrorRepeat => {
                    c = s_mod(c, 2 * size - 2);
                    c = if c >= size { 2 * size - 2 - c } else { c };
                }
            }
        }
        coord_in_block[dim] = c as u32 % t.block_size[dim];
        block_coord[dim] = c as u32 / t.block_size[dim];
    }
    Ok((block_coord, coord_in_block))
}

fn tensor_coord_to_linear(t: &TensorLayout, block_coord: Coord) -> u64 {
    let mut index = 0_u64;
    for (dim, block) in block_coord.iter().enumerate().take(t.l_dim) {
        // multiply has 64b result
        index += u64::from(*block) * u64::from(t.stride[dim]);
    }
    index
}

fn linear_to_view_coord(t: &TensorLayout, v: &TensorView, mut index: u32) -> Coord {
    let dimensions = if v.has_dimensions { &v.view_dimension } else { &t.span };
    let mut view_coord = [0; MAX_DIM];
    for dim in (0..v.v_dim).rev() {
        let i = v.permutation[dim];
        view_coord[i] = index % dimensions[i];
        index /= dimensions[i];
    }
    view_coord
}

fn view_coord_to_linear(t: &TensorLayout, v: &TensorView, view_coord: Coord) -> u32 {
    let mut stride = [0_u32; MAX_DIM];
    if v.has_dimensions {
        stride = v.view_stride;
    } else {
        stride[v.v_dim - 1] = 1;
        for dim in (0..v.v_dim - 1).rev() {
            stride[dim] = stride[dim + 1].wrapping_mul(t.span[dim + 1]);
        }
    }
    let mut index = 0_u32;
    for dim in (0..v.v_dim).rev() {
        index = index.wrapping_add(view_coord[dim].wrapping_mul(stride[dim]));
    }
    index
}

/// *matrixCoordToTensorElement*, and *matrixCoordToTensorElementWithView* if there is a view.
pub(crate) fn matrix_coord_to_tensor_element(
    t: &TensorLayout,
    v: Option<&TensorView>,
    (row, col): (u32, u32),
    n: u32,
    is_store: bool,
) -> Element {
    let index = match v {
        None => matrix_coord_to_linear(row, col, n),
        Some(v) => {
            let Some(index) = matrix_coord_to_linear_with_view(v, row, col, n) else {
                return Element::Skipped;
            };
            let view_coord = linear_to_view_coord(t, v, index);
            view_coord_to_linear(t, v, view_coord)
        }
    };
    let span_coord = linear_to_span_coord(t, index);
    match span_coord_to_tensor_coord(t, span_coord, is_store) {
        Err(end) => end,
        Ok((block_coord, coord_in_block)) => {
            Element::At { index: tensor_coord_to_linear(t, block_coord), block_coord, coord_in_block }
        }
    }
}
