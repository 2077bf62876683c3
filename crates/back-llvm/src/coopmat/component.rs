//! Kernel calls for components of single lanes.

use super::uses::access;
use super::{Element, MatValue};
use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::value::Val;
use bytemuck::bytes_of;
use inkwell::values::PointerValue;
use phalanx_ir::{Inst, MatType, Var};
use phalanx_kernels::{ComponentParams, KernelId};

impl<'c> Lower<'_, 'c> {
    pub(super) fn component_params(&self, ty: MatType) -> ComponentParams {
        ComponentParams::new(self.layout_of(ty), self.w)
    }

    pub(super) fn mat_extract(&mut self, inst: Inst) -> Result<()> {
        let matrix = self.mat_arg(inst, 0)?;
        let component = self.scalar(self.args(inst)[1])?;
        self.extract_component(inst, matrix, component)
    }

    pub(super) fn mat_insert(&mut self, inst: Inst) -> Result<()> {
        let matrix = self.mat_arg(inst, 0)?;
        let args = self.args(inst);
        let (component, x) = (self.scalar(args[1])?, self.scalar(args[2])?);
        let result = self.mat_result(inst)?;
        self.mat_copy(result, matrix.tile)?;
        self.insert_component(result, component, x)
    }

    pub(super) fn var_component_load(&mut self, inst: Inst) -> Result<()> {
        let (var, element) = self.component_access(inst)?;
        if self.may_be_outside(var, element) {
            self.clear_outside(var)?;
        }
        let matrix = self.var_matrix(var, element)?;
        let component = self.scalar(self.args(inst)[1])?;
        self.extract_component(inst, matrix, component)
    }

    pub(super) fn var_component_store(&mut self, inst: Inst) -> Result<()> {
        let (var, element) = self.component_access(inst)?;
        let matrix = self.var_matrix(var, element)?;
        let args = self.args(inst);
        let (component, x) = (self.scalar(args[1])?, self.scalar(args[2])?);
        self.insert_component(matrix, component, x)
    }

    /// The element accessed. An index that differs between lanes is legal on paper (the access is
    /// no tangled instruction), but it would scatter over tiles.
    fn component_access(&self, inst: Inst) -> Result<(Var, Element)> {
        let (var, element, _) = access(self.f, inst).ok_or_else(|| Error::bug("no access to a variable"))?;
        if let Element::Dynamic(index) = element
            && !self.scalar(index)?.is_uniform()
        {
            return Err(Error::unsupported("an array of cooperative matrices indexed differently by lanes"));
        }
        Ok((var, element))
    }

    fn var_matrix(&mut self, var: Var, element: Element) -> Result<MatValue<'c>> {
        let ty = self.f.var(var).ty.mat().ok_or_else(|| Error::bug(format!("{var} holds no matrices")))?;
        Ok(MatValue { tile: self.var_tile(var, element)?, ty })
    }

    fn extract_component(&mut self, inst: Inst, matrix: MatValue<'c>, component: Val<'c>) -> Result<()> {
        let ty = self.e.vec_of(self.e.scalar_ty(matrix.ty.elem), self.w);
        let out = self.spill_slot(ty.into(), 0)?;
        let params = self.component_params(matrix.ty);
        let (varying, component) = self.component_arg(component)?;
        if varying {
            let args = [matrix.tile.into(), component, out.into()];
            self.kernel(KernelId::EXTRACT_LANES, bytes_of(&params), &args)?;
        } else {
            self.kernel(KernelId::EXTRACT, bytes_of(&params), &[matrix.tile.into(), component, out.into()])?;
        }
        let v = self.e.load(ty, out, 4)?;
        self.set(inst, Val::varying(v));
        Ok(())
    }

    fn insert_component(&mut self, matrix: MatValue<'c>, component: Val<'c>, x: Val<'c>) -> Result<()> {
        let values = self.spill_lanes(x, 0)?;
        let mask = self.spill_mask()?;
        let params = self.component_params(matrix.ty);
        let (varying, component) = self.component_arg(component)?;
        let kernel = if varying { KernelId::INSERT_LANES } else { KernelId::INSERT };
        let args = [matrix.tile.into(), component, values.into(), mask.into()];
        self.kernel(kernel, bytes_of(&params), &args)
    }

    /// A component number for all lanes, or the address of one for each.
    fn component_arg(&mut self, component: Val<'c>) -> Result<(bool, V<'c>)> {
        if component.is_uniform() {
            return Ok((false, component.v));
        }
        let lanes = self.spill_lanes(component, 1)?;
        Ok((true, lanes.into()))
    }

    /// A byte per lane, 1 where it executes.
    fn spill_mask(&mut self) -> Result<PointerValue<'c>> {
        let mask = self.exec_mask();
        let bytes = self.e.zext_trunc(mask, 8)?;
        let slot = self.spill_slot(bytes.get_type(), 2)?;
        self.e.store(bytes, slot, 4)?;
        Ok(slot)
    }
}
