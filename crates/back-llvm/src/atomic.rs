//! Atomic operations.
//!
//! Lanes act one after the other: each active lane does its operation in a loop.

use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::value::{Ptr, Val};
use inkwell::types::BasicTypeEnum;
use phalanx_ir::{AtomicOp, Inst, Scalar, Space};

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_atomic(&mut self, inst: Inst, op: AtomicOp) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        let p = self.ptr(info.args[0])?;
        let s = match info.results.first() {
            Some(&r) => self.scalar_ty(r)?,
            None => self.scalar_ty(info.args[1])?,
        };
        self.check_access(inst, &p, s.bytes().into(), op != AtomicOp::Load)?;
        let operands = info.args[1..].iter().map(|&v| self.scalar(v)).collect::<Result<Vec<_>>>()?;
        let one_place = p.base.is_uniform() && p.size.is_uniform() && p.offset.is_uniform();
        if one_place && op == AtomicOp::Load {
            let v = self.atomic_at(op, s, &p, [p.base.v, p.size.v, p.offset.v], &[])?;
            let v = v.ok_or_else(|| Error::bug("an atomic load has a result"))?;
            self.set(inst, Val::uniform(v));
            return Ok(());
        }
        let ty: BasicTypeEnum<'c> = self.e.vec_of(self.e.scalar_ty(s), self.w).into();
        let slot = self.spill_slot(ty, 0)?;
        let has_result = !info.results.is_empty();
        if has_result {
            // Lanes that don't take part must not hold what LLVM may take for any value.
            self.e.b.build_store(slot, self.e.zero(ty))?;
        }
        self.each_active_lane(|l, lane| {
            let place = [l.at_lane(p.base, lane)?, l.at_lane(p.size, lane)?, l.at_lane(p.offset, lane)?];
            let xs = operands.iter().map(|&x| l.at_lane(x, lane)).collect::<Result<Vec<_>>>()?;
            if let Some(old) = l.atomic_at(op, s, &p, place, &xs)?.filter(|_| has_result) {
                let at = l.e.element_ptr(l.e.scalar_ty(s), slot.into(), lane)?;
                l.e.store(old, at.into_pointer_value(), 1)?;
            }
            Ok(())
        })?;
        if has_result {
            let v = self.e.b.build_load(ty, slot, "")?;
            self.set(inst, Val::varying(v));
        }
        Ok(())
    }

    /// One operation at a place (base, size, offset). Out of bounds it acts on a place that nobody
    /// reads, and gives zero.
    fn atomic_at(
        &mut self,
        op: AtomicOp,
        s: Scalar,
        p: &Ptr<'c>,
        [base, size, offset]: [V<'c>; 3],
        xs: &[V<'c>],
    ) -> Result<Option<V<'c>>> {
        if p.space == Space::Global {
            let at = self.e.cast(inkwell::values::InstructionOpcode::IntToPtr, offset, self.e.ptr_ty())?;
            return self.e.atomic(op, s, at.into_pointer_value(), xs);
        }
        let at = self.e.offset(base, offset)?;
        let inside = self.is_inside(offset, size, s.bytes().into())?;
        let nowhere = self.spill_slot(self.e.cx.i64_type().into(), u32::MAX)?;
        self.e.store(self.e.i64(0), nowhere, 8)?;
        let at = self.e.select(inside, at, nowhere.into())?.into_pointer_value();
        match self.e.atomic(op, s, at, xs)? {
            Some(old) => Ok(Some(self.e.select(inside, old, self.e.zero(old.get_type()))?)),
            None => Ok(None),
        }
    }
}
