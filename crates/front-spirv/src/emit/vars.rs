//! Variables for values that cross constructs: those of a phi, and the result of a call that returns in several places.

use super::Cx;
use crate::diag::{Res, bug};
use crate::types::Ty;
use crate::value::Val;
use phalanx_ir::Var;
use std::rc::Rc;

impl Cx<'_> {
    /// Variables for a value of a type: one for each leaf, and one for all components of a long vector.
    pub(super) fn vars_for(&mut self, ty: Ty) -> Res<Rc<[Var]>> {
        self.types().leaf_types(ty)?;
        let mut out = Vec::new();
        self.push_vars(ty, &mut out)?;
        Ok(out.into())
    }

    fn push_vars(&mut self, ty: Ty, out: &mut Vec<Var>) -> Res<()> {
        if let Some(leaf) = self.types().leaf(ty) {
            out.push(self.func.new_var(leaf, 1, ""));
            return Ok(());
        }
        if let Some((elem, n)) = self.long(ty)
            && let Some(leaf) = self.types().leaf(elem)
        {
            out.push(self.scratch_var(leaf, n)?);
            return Ok(());
        }
        for i in 0..self.types().count(ty).unwrap_or(0) {
            let part = self.types().constituent(ty, i).ok_or_else(|| bug("a constituent lacks its type"))?;
            self.push_vars(part, out)?;
        }
        Ok(())
    }

    pub(super) fn store_vars(&mut self, ty: Ty, val: &Val, vars: &[Var]) -> Res<()> {
        self.store_into(ty, val, &mut vars.iter().copied())
    }

    fn store_into(&mut self, ty: Ty, val: &Val, vars: &mut impl Iterator<Item = Var>) -> Res<()> {
        let leaf = self.types().leaf(ty);
        if leaf.is_some() || self.long(ty).is_some() {
            let var = vars.next().ok_or_else(|| bug("a value has more variables than its type"))?;
            let Some(leaf) = leaf else { return self.copy_long(ty, val, var) };
            let v = self.leaf_value(leaf, val)?;
            self.b().var_store(var, None, v);
            return Ok(());
        }
        for i in 0..self.types().count(ty).unwrap_or(0) {
            let part = self.part(ty, val, i)?;
            let elem = self.types().constituent(ty, i).ok_or_else(|| bug("a constituent lacks its type"))?;
            self.store_into(elem, &part, vars)?;
        }
        Ok(())
    }

    pub(super) fn load_vars(&mut self, ty: Ty, vars: &[Var]) -> Res<Val> {
        self.load_from(ty, &mut vars.iter().copied())
    }

    fn load_from(&mut self, ty: Ty, vars: &mut impl Iterator<Item = Var>) -> Res<Val> {
        let is_leaf = self.types().leaf(ty).is_some();
        if let Some((_, n)) = self.long(ty).filter(|_| !is_leaf) {
            let var = vars.next().ok_or_else(|| bug("a value has fewer variables than its type"))?;
            // The variable is written again before the value is dead.
            let copy = self.scratch_var(self.func.var(var).ty, n)?;
            self.copy_long(ty, &Val::Long(var), copy)?;
            return Ok(Val::Long(copy));
        }
        if is_leaf {
            let var = vars.next().ok_or_else(|| bug("a value has fewer variables than its type"))?;
            let v = self.b().var_load(var, None);
            return self.unflatten(ty, &[v]);
        }
        let n = self.types().count(ty).unwrap_or(0);
        let mut parts = Vec::with_capacity(n as usize);
        for i in 0..n {
            let elem = self.types().constituent(ty, i).ok_or_else(|| bug("a constituent lacks its type"))?;
            parts.push(self.load_from(elem, vars)?);
        }
        Ok(Val::many(parts))
    }
}
