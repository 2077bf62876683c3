//! Loads and stores through tensor layouts and views: the pseudo-code of SPV_NV_tensor_addressing and
//! SPV_NV_cooperative_matrix2, "Tensor Layout and View", word for word where it is right.
//!
//! Of the mirrored clamp mode it is not: `(c >= dim) ? (2*dim-2-c) : c` names the loop's counter where
//! the size of the dimension is meant.

use super::{Exec, Stop};
use crate::memory::{Fault, Pointer};
use phalanx_ir::tensor::{MAX_DIMS, TensorOperands};
use phalanx_ir::{Block, Clamp, InstInfo, MatType, Scope, TensorAccess, TensorView, Value};

type Coord = [u32; MAX_DIMS];

/// The state of a tensor layout and of a tensor view.
#[derive(Debug)]
struct Tensor {
    access: TensorAccess,
    operands: TensorOperands,
    words: Vec<u32>,
    is_store: bool,
}

/// Where an element comes from or goes to.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// Outside of the clip: the load or store is skipped.
    Clipped,
    /// Outside of the tensor: the clamp value, or the store is discarded.
    Outside,
    /// In the tensor.
    Inside { block: Coord, in_block: Coord },
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

impl Tensor {
    fn ldim(&self) -> usize {
        self.access.dims.into()
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
        if self.access.view.is_some() {
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
        for dim in (0..dims - 1).rev() {
            stride[dim] = stride[dim + 1].wrapping_mul(self.span(dim + 1));
        }
        if v.has_dimensions {
            (0..dims).for_each(|dim| stride[dim] = self.word(self.operands.view_stride(dim)));
        }
        (0..dims).fold(0, |index, dim| index.wrapping_add(coord[dim].wrapping_mul(stride[dim])))
    }

    /// *linearToSpanCoord*.
    fn linear_to_span_coord(&self, mut index: u32) -> Coord {
        let mut coord = Coord::default();
        for dim in (0..self.ldim()).rev() {
            coord[dim] = modulo(index, self.span(dim));
            index = divide(index, self.span(dim));
        }
        coord
    }

    /// *spanCoordToTensorCoord*.
    fn span_coord_to_tensor_coord(&self, span_coord: Coord) -> Target {
        let (mut block, mut in_block) = (Coord::default(), Coord::default());
        for dim in 0..self.ldim() {
            let offset = self.word(self.operands.offset(dim));
            let mut c = span_coord[dim].wrapping_add(offset).cast_signed();
            let size = self.word(self.operands.dimension(dim));
            if c < 0 || c.cast_unsigned() >= size {
                let size = size.cast_signed();
                let clamp = match self.access.clamp {
                    // Anything may happen; what happens is harmless.
                    Clamp::Undefined => Clamp::Constant,
                    _ if self.is_store => Clamp::Constant,
                    clamp => clamp,
                };
                c = match clamp {
                    Clamp::Undefined | Clamp::Constant => return Target::Outside,
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
            in_block[dim] = modulo(c.cast_unsigned(), size);
            block[dim] = divide(c.cast_unsigned(), size);
        }
        Target::Inside { block, in_block }
    }

    /// *tensorCoordToLinear*.
    fn tensor_coord_to_linear(&self, block: Coord) -> u32 {
        (0..self.ldim()).fold(0, |index, dim| {
            index.wrapping_add(block[dim].wrapping_mul(self.word(self.operands.stride(dim))))
        })
    }

    /// *matrixCoordToTensorElement* and *matrixCoordToTensorElementWithView*, up to the coordinates.
    fn target(&self, m: &MatType, element: usize) -> Target {
        let (row, col) = (element as u32 / m.cols, element as u32 % m.cols);
        let Some(mut index) = self.matrix_coord_to_linear(row, col, m.cols) else { return Target::Clipped };
        if let Some(v) = &self.access.view {
            let coord = self.linear_to_view_coord(v, index);
            index = self.view_coord_to_linear(v, coord);
        }
        self.span_coord_to_tensor_coord(self.linear_to_span_coord(index))
    }

    fn place(&self, pointer: Pointer, block: Coord) -> Pointer {
        let index = i64::from(self.tensor_coord_to_linear(block));
        pointer.add(index.wrapping_mul(self.access.unit.into()))
    }
}

impl Exec<'_, '_, '_> {
    /// The state that the operands from `first` on describe.
    fn tensor(&self, access: &TensorAccess, info: &InstInfo, first: usize, is_store: bool) -> Tensor {
        let lane = self.active().first();
        let words = info.args[first..].iter().map(|&v| self.sub.scalar(v, lane) as u32).collect();
        Tensor { access: *access, operands: access.operands(), words, is_store }
    }

    pub(super) fn mat_load_tensor(
        &mut self,
        info: &InstInfo,
        access: &TensorAccess,
        decode: Option<Block>,
    ) -> Result<(), Stop> {
        let m = self.mat_type(info.results[0]);
        let object = access.view.map(|_| info.args[1]);
        let tensor = self.tensor(access, info, 1 + usize::from(object.is_some()), false);
        let pointer = self.sub.pointer(info.args[0], self.active().first());
        let decoded = match decode {
            Some(body) => self.decode(&m, &tensor, pointer, body)?,
            None => Vec::new(),
        };
        let clamp_value = u64::from(tensor.word(tensor.operands.clamp_value())) & m.elem.mask();
        let elements: Result<Vec<u64>, Fault> = (0..m.len() as usize)
            .map(|i| match tensor.target(&m, i) {
                Target::Clipped => Ok(object.map_or(0, |v| self.sub.matrix(v)[i])),
                Target::Outside => Ok(clamp_value),
                Target::Inside { .. } if decode.is_some() => Ok(decoded[i].unwrap_or(0)),
                Target::Inside { block, .. } => self.dispatch.view.read(tensor.place(pointer, block), m.elem),
            })
            .collect();
        self.sub.set_matrix(info.results[0], elements?);
        Ok(())
    }

    fn decode(
        &mut self,
        m: &MatType,
        tensor: &Tensor,
        pointer: Pointer,
        body: Block,
    ) -> Result<Vec<Option<u64>>, Stop> {
        self.for_each(m, body, m.len() as usize, |exec, params: &[Value], lane, element| {
            let Target::Inside { block, in_block } = tensor.target(m, element) else { return false };
            exec.sub.set_pointer(params[0], lane, tensor.place(pointer, block));
            let coords = block[..tensor.ldim()].iter().chain(&in_block[..tensor.ldim()]);
            for (&param, &c) in params[1..].iter().zip(coords) {
                exec.sub.set_scalar(param, lane, c.into());
            }
            true
        })
    }

    pub(super) fn mat_store_tensor(&mut self, info: &InstInfo, access: &TensorAccess) -> Result<(), Stop> {
        let m = self.mat_type(info.args[1]);
        let tensor = self.tensor(access, info, 2, true);
        let pointer = self.sub.pointer(info.args[0], self.active().first());
        for i in 0..m.len() as usize {
            // Each subgroup writes its part of a matrix of the work-group.
            if m.scope == Scope::Workgroup && self.sub.owner(&m, i).is_none() {
                continue;
            }
            if let Target::Inside { block, .. } = tensor.target(&m, i) {
                let bits = self.sub.matrix(info.args[1])[i];
                self.dispatch.view.write(tensor.place(pointer, block), m.elem, bits)?;
            }
        }
        Ok(())
    }
}
