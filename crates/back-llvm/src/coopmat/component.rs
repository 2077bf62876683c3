//! Components of single lanes.
//!
//! Where the elements of a tile are one vector behind the other, component `i` of all lanes is vector `i`, which is loaded or
//! stored. Otherwise, and where lanes want different components, kernels find them.

use super::map::is_row;
use super::uses::access;
use super::{Element, MatValue};
use crate::emit::{V, const_int};
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::value::Val;
use bytemuck::bytes_of;
use inkwell::IntPredicate;
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
        if let Some((is_there, component)) = self.vector_of_component(matrix, component)? {
            let x = self.read_component(&matrix, component)?;
            let x = match const_int(is_there) {
                Some(1) => x,
                _ => self.e.select(is_there, x, self.e.zero(ty.into()))?,
            };
            self.set(inst, Val::varying(x));
            return Ok(());
        }
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
        if let Some((is_there, component)) = self.vector_of_component(matrix, component)? {
            let mut x = self.vector(x)?;
            if const_int(is_there) != Some(1) || self.exec.mask.is_some() {
                let writes = self.e.and(self.e.splat(is_there, self.w)?, self.exec_mask())?;
                let old = self.read_component(&matrix, component)?;
                x = self.e.select(writes, x, old)?;
            }
            return self.write_component(&matrix, component, x);
        }
        let values = self.spill_lanes(x, 0)?;
        let mask = self.spill_mask()?;
        let params = self.component_params(matrix.ty);
        let (varying, component) = self.component_arg(component)?;
        let kernel = if varying { KernelId::INSERT_LANES } else { KernelId::INSERT };
        let args = [matrix.tile.into(), component, values.into(), mask.into()];
        self.kernel(kernel, bytes_of(&params), &args)
    }

    /// For a component that is a vector of a tile: whether there is one of that number, and its number or 0.
    fn vector_of_component(
        &mut self,
        matrix: MatValue<'c>,
        component: Val<'c>,
    ) -> Result<Option<(V<'c>, V<'c>)>> {
        let is_full = self.ir.workgroup_invocations().is_multiple_of(self.w);
        if !component.is_uniform() || !is_full || !is_row(self.layout_of(matrix.ty), matrix.ty, self.w) {
            return Ok(None);
        }
        let count = matrix.ty.len() / u64::from(self.w);
        let component = component.v;
        let is_there = self.e.icmp(IntPredicate::ULT, component, self.e.int_like(component, count))?;
        let number = self.e.select(is_there, component, self.e.int_like(component, 0))?;
        Ok(Some((is_there, number)))
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
