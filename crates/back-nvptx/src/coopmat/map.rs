//! Operations with a region for each element: the region is repeated for each register.

use super::regroup::Later;
use crate::lower::{Flow, Lower};
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Block, Inst, Op};

impl<'c> Lower<'_, 'c> {
    pub(super) fn mat_map(&mut self, inst: Inst, body: Block) -> Result<()> {
        let info = self.f.inst(inst);
        let to = self.mat_ty(info.results[0])?;
        let share = self.share_of(to);
        let layout = share.layout;
        let mut operands = Vec::new();
        for &arg in &info.args {
            let m = self.mat_in(arg, layout.kind)?;
            operands.push(self.elements(&m)?);
        }
        let lane = self.lane()?;
        let first = self.first_of_share(share)?;
        let mut results = Vec::new();
        for register in 0..layout.registers() {
            let number = self.e.i32(register);
            let (mut row, mut col) = layout.place(&mut Later(self), lane, number)?;
            if let Some((first_row, first_col)) = first {
                (row, col) = (self.e.add(first_row, row)?, self.e.add(first_col, col)?);
            }
            let mut params = vec![row, col];
            params.extend(operands.iter().map(|elements| elements[register as usize]));
            results.push(self.region(body, &params)?);
        }
        let result = self.pack_elements(layout, to.elem, &results)?;
        self.set_mat(inst, result)
    }

    /// Appends the code of a region, with these values for its parameters; gives its result.
    pub(super) fn region(&mut self, body: Block, params: &[V<'c>]) -> Result<V<'c>> {
        let f = self.f;
        let around = std::mem::replace(&mut self.here, body);
        let mut result = None;
        for &inst in f.block(body) {
            let info = f.inst(inst);
            match info.op {
                Op::Params => {
                    for (&v, &x) in info.results.iter().zip(params) {
                        self.define(v, x);
                    }
                }
                Op::Yield => result = Some(self.scalar(info.args[0])?),
                _ if self.inst(inst)? == Flow::Left => {
                    return Err(Error::unsupported("a region that never ends"));
                }
                _ => {}
            }
        }
        self.here = around;
        result.ok_or_else(|| Error::bug("a region without a result"))
    }
}
