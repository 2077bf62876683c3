//! Loads and stores through tensor layouts and views. Where each element is, [`TensorState`] says.

use super::{Exec, Stop};
use crate::memory::Pointer;
use phalanx_ir::eval::{Coord, TensorPlace, TensorState};
use phalanx_ir::{Block, InstInfo, MatType, TensorAccess, Value};

/// The tensor of an access.
#[derive(Debug)]
struct Tensor {
    access: TensorAccess,
    state: TensorState,
    is_store: bool,
}

impl Tensor {
    fn target(&self, m: &MatType, element: usize) -> TensorPlace {
        let (row, col) = (element as u32 / m.cols, element as u32 % m.cols);
        self.state.place(row, col, m.cols, self.is_store)
    }

    fn place(&self, pointer: Pointer, block: Coord) -> Pointer {
        pointer.add(self.state.index(block).cast_signed().wrapping_mul(self.access.unit.into()))
    }
}

impl Exec<'_, '_, '_> {
    /// The state that the operands from `first` on describe.
    fn tensor(&self, access: &TensorAccess, info: &InstInfo, first: usize, is_store: bool) -> Tensor {
        let lane = self.active().first();
        let words = info.args[first..].iter().map(|&v| self.sub.scalar(v, lane) as u32).collect();
        Tensor { access: *access, state: TensorState::new(*access, words), is_store }
    }

    pub(super) fn mat_load_tensor(
        &mut self,
        info: &InstInfo,
        access: &TensorAccess,
        decode: Option<Block>,
    ) -> Result<(), Stop> {
        let m = self.mat_type(info.results[0]);
        let object = access.clips().then(|| info.args[1]);
        let tensor = self.tensor(access, info, 1 + usize::from(object.is_some()), false);
        let pointer = self.sub.pointer(info.args[0], self.active().first());
        let decoded = match decode {
            Some(body) => self.decode(&m, &tensor, pointer, body)?,
            None => Vec::new(),
        };
        let clamp_value = u64::from(tensor.state.clamp_value()) & m.elem.mask();
        let mut elements = Vec::with_capacity(m.len() as usize);
        for i in 0..m.len() as usize {
            self.dispatch.spend(1)?;
            elements.push(match tensor.target(&m, i) {
                TensorPlace::Clipped => object.map_or(0, |v| self.matrix(v)[i]),
                TensorPlace::Outside => clamp_value,
                TensorPlace::Inside { .. } if decode.is_some() => {
                    decoded.get(i).copied().flatten().unwrap_or(0)
                }
                TensorPlace::Inside { block, .. } => {
                    self.dispatch.view.read(tensor.place(pointer, block), m.elem)?
                }
            });
        }
        self.set_matrix(info.results[0], elements);
        Ok(())
    }

    fn decode(
        &mut self,
        m: &MatType,
        tensor: &Tensor,
        pointer: Pointer,
        body: Block,
    ) -> Result<Vec<Option<u64>>, Stop> {
        self.for_each(body, m, |exec, params: &[Value], lane, element| {
            let TensorPlace::Inside { block, in_block, .. } = tensor.target(m, element) else { return false };
            exec.sub.set_pointer(params[0], lane, tensor.place(pointer, block));
            let dims = usize::from(tensor.access.dims);
            let coords = block[..dims].iter().chain(&in_block[..dims]);
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
            self.dispatch.spend(1)?;
            if let TensorPlace::Inside { block, .. } = tensor.target(&m, i) {
                let bits = self.matrix(info.args[1])[i];
                self.dispatch.view.write(tensor.place(pointer, block), m.elem, bits)?;
            }
        }
        Ok(())
    }
}
