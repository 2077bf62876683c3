//! Operations with a region for each element: the region is repeated for each register, or is the body of a loop over them
//! if it is long. Then the elements lie in an array in the lane's own memory for as long.

use super::layout::Share;
use super::regroup::Later;
use super::rows::place_spaced;
use super::straight;
use crate::lower::{Flow, Lower};
use inkwell::IntPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::PointerValue;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Block, Inst, MatType, Op};

/// Most instructions that a region becomes by being repeated.
const MAX_REPEATED: usize = 4096;

/// Elements of an operand, by register.
enum Operand<'c> {
    Values(Vec<V<'c>>),
    Array(PointerValue<'c>, BasicTypeEnum<'c>),
}

impl<'c> Lower<'_, 'c> {
    pub(super) fn mat_map(&mut self, inst: Inst, body: Block) -> Result<()> {
        let info = self.f.inst(inst);
        let to = self.mat_ty(info.results[0])?;
        let share = self.share_of(to);
        let layout = share.layout;
        let registers = layout.registers();
        let mut operands = Vec::new();
        for &arg in &info.args {
            let m = self.mat_in(arg, layout.kind)?;
            operands.push(Operand::Values(self.elements(&m)?));
        }
        let results = match straight::instructions(self.f, body) {
            Some(count) if count * registers as usize <= MAX_REPEATED => {
                let numbers = (0..registers).map(|register| self.e.i32(register)).collect::<Vec<_>>();
                let map = |number| self.map_register((share, to), body, &operands, number);
                numbers.into_iter().map(map).collect::<Result<Vec<_>>>()?
            }
            _ => {
                let ty = self.e.scalar_ty(to.elem);
                let array = self.reserve(self.array_ty(ty, registers))?;
                self.map_to_array((share, to), body, operands, (array, false))?;
                let mut results = Vec::new();
                for i in 0..registers {
                    let at = self.e.element_ptr(ty, array.into(), self.e.i64(i.into()))?.into_pointer_value();
                    results.push(self.e.b.build_load(ty, at, "")?);
                }
                results
            }
        };
        let result = self.pack_elements(layout, to.elem, &results)?;
        self.set_mat(inst, result)
    }

    /// The results of a map of matrices of one scalar, in an array in which they are spaced ([`rows`](super::rows)).
    pub(super) fn map_spaced(&mut self, inst: Inst, body: Block, array: PointerValue<'c>) -> Result<()> {
        let info = self.f.inst(inst);
        let to = self.mat_ty(info.results[0])?;
        let share = self.share_of(to);
        let mut operands = Vec::new();
        for &arg in &info.args {
            let m = self.mat_in(arg, share.layout.kind)?;
            operands.push(Operand::Values(self.elements(&m)?));
        }
        self.map_to_array((share, to), body, operands, (array, true))
    }

    /// The results of a region, by register, in an array in which they may be spaced.
    fn map_to_array(
        &mut self,
        (share, to): (Share, MatType),
        body: Block,
        mut operands: Vec<Operand<'c>>,
        (array, is_spaced): (PointerValue<'c>, bool),
    ) -> Result<()> {
        let registers = share.layout.registers();
        for operand in &mut operands {
            if let Operand::Values(values) = operand
                && values.iter().any(|x| *x != values[0])
            {
                let ty = values[0].get_type();
                let array = self.reserve(self.array_ty(ty, registers))?;
                for (&x, i) in values.iter().zip(0..) {
                    let at = self.e.element_ptr(ty, array.into(), self.e.i64(i))?.into_pointer_value();
                    self.e.b.build_store(at, x)?;
                }
                *operand = Operand::Array(array, ty);
            }
        }
        let ty = self.e.scalar_ty(to.elem);
        let [again, done] = ["map", "mapped"].map(|name| self.new_block(name));
        let before = self.e.here()?;
        self.e.br(again)?;
        self.e.b.position_at_end(again);
        let phi = self.e.b.build_phi(self.e.cx.i32_type(), "register")?;
        phi.add_incoming(&[(&self.e.cx.i32_type().const_zero(), before)]);
        let register = phi.as_basic_value();
        let x = self.map_register((share, to), body, &operands, register)?;
        let number =
            if is_spaced { place_spaced(&share.layout, &mut Later(self), register)? } else { register };
        let number = self.e.zext_trunc(number, 64)?;
        let at = self.e.element_ptr(ty, array.into(), number)?.into_pointer_value();
        self.e.b.build_store(at, x)?;
        let next = self.e.add(register, self.e.i32(1))?;
        phi.add_incoming(&[(&next, self.e.here()?)]);
        let more = self.e.icmp(IntPredicate::ULT, next, self.e.i32(registers))?;
        self.e.cond_br(more, again, done)?;
        self.e.b.position_at_end(done);
        Ok(())
    }

    /// What the region makes of a register.
    fn map_register(
        &mut self,
        (share, to): (Share, MatType),
        body: Block,
        operands: &[Operand<'c>],
        register: V<'c>,
    ) -> Result<V<'c>> {
        let (lane, layout) = (self.lane()?, share.layout);
        let (own_row, own_col) = layout.place(&mut Later(self), lane, register)?;
        let (row, col) = match self.first_of_share(share)? {
            Some((row, col)) => (self.e.add(row, own_row)?, self.e.add(col, own_col)?),
            None => (own_row, own_col),
        };
        let mut params = vec![row, col];
        for operand in operands {
            params.push(match operand {
                Operand::Values(values) => {
                    let known = phalanx_emit_llvm::const_int(register).unwrap_or(0);
                    values[known as usize]
                }
                &Operand::Array(array, ty) => {
                    let number = self.e.zext_trunc(register, 64)?;
                    let at = self.e.element_ptr(ty, array.into(), number)?.into_pointer_value();
                    self.e.b.build_load(ty, at, "")?
                }
            });
        }
        // What only computes does no harm where there is no element.
        let computes = |&inst: &Inst| {
            let op = &self.f.inst(inst).op;
            op.computes() || matches!(op, Op::Params | Op::Yield)
        };
        if share.is_full(to) || self.f.block(body).iter().all(computes) {
            return self.region(body, &params);
        }
        let mut exists = self.e.bool(true);
        for (number, side) in [(own_row, layout.rows), (own_col, layout.cols), (row, to.rows), (col, to.cols)]
        {
            let is_below = self.e.icmp(IntPredicate::ULT, number, self.e.i32(side))?;
            exists = self.e.and(exists, is_below)?;
        }
        // Those that come to the region are together there.
        let mask = self.mask_if_any()?;
        let taken = mask.map(|mask| self.ballot(mask, exists)).transpose()?;
        let none = self.e.zero(self.e.scalar_ty(to.elem));
        let of_region = |l: &mut Self| {
            if let Some(taken) = taken {
                l.set_mask(taken)?;
            }
            Ok(vec![l.region(body, &params)?])
        };
        let x = self.either(exists, of_region, |_| Ok(vec![none]))?[0];
        if let Some(mask) = mask {
            self.set_mask(mask)?;
        }
        Ok(x)
    }

    /// Appends the code of a region, with these values for its parameters; gives its result.
    pub(super) fn region(&mut self, body: Block, params: &[V<'c>]) -> Result<V<'c>> {
        let f = self.f;
        let around = std::mem::replace(&mut self.here, body);
        let is_inner = std::mem::replace(&mut self.matrices.in_region, true);
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
                _ if self.straight(inst)? == Flow::Left => {
                    return Err(Error::unsupported("a region that never ends"));
                }
                _ => {}
            }
        }
        self.here = around;
        self.matrices.in_region = is_inner;
        result.ok_or_else(|| Error::bug("a region without a result"))
    }
}
