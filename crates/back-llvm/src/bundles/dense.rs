//! Loads and stores of whole bundles: register by register, from the first to the last.
//!
//! As one vector of LLVM, of eight registers, they would be right, too; but LLVM reads and writes the parts of such a vector
//! in another order than that of memory, and what fetches memory ahead in a Zen 4 then does so no more: sums of rows run
//! at 11 instead of 29 GB/s.

use crate::emit::{V, const_int, elem_ty, lanes};
use crate::error::Result;
use crate::lower::Lower;
use crate::memory::Access;
use inkwell::types::BasicTypeEnum;
use inkwell::values::PointerValue;

impl<'c> Lower<'_, 'c> {
    /// Reads all lanes' scalars as one vector, if they lie one lane behind the other.
    pub(super) fn read_dense(&mut self, a: &Access<'c>) -> Result<Option<V<'c>>> {
        if a.gap(self.w) != Some(a.n.into()) || (!a.is_bounded() && self.exec.mask.is_some()) {
            return Ok(None);
        }
        let at = self.at(&a.ptr, a.ptr.base.v, a.ptr.offset.v)?.into_pointer_value();
        let elems = a.n * self.w;
        let ty = self.e.vec_of(self.e.scalar_ty(a.scalar), elems).into();
        self.note_read(a.ptr.space, at, u64::from(elems) * a.elem_bytes())?;
        self.ask_ahead(a, at, u64::from(elems) * a.elem_bytes())?;
        let inside = self.all_inside(a, a.n.into())?;
        let from = match const_int(inside) {
            Some(1) => at,
            _ => self.copied_at_edge(ty, a.elem_bytes(), &a.ptr, at, inside)?,
        };
        let length = self.register_length(a);
        let ty: BasicTypeEnum<'c> = self.e.vec_of(self.e.scalar_ty(a.scalar), length).into();
        let registers = (0..elems).step_by(length as usize).map(|first| -> Result<V<'c>> {
            let at = self.e.field(from, u64::from(first) * a.elem_bytes())?;
            self.e.load(ty, at, 1)
        });
        let registers = registers.collect::<Result<Vec<_>>>()?;
        self.e.concat(registers).map(Some)
    }

    /// Writes all lanes' scalars, which are one vector, if they lie one lane behind the other.
    pub(super) fn write_dense(&mut self, a: &Access<'c>, all: V<'c>) -> Result<bool> {
        let is_maskable = self.e.caps.mask_registers;
        if a.gap(self.w) != Some(a.n.into()) || (!a.is_bounded() && self.exec.mask.is_some() && !is_maskable)
        {
            return Ok(false);
        }
        let at = self.at(&a.ptr, a.ptr.base.v, a.ptr.offset.v)?.into_pointer_value();
        let elems = a.n * self.w;
        let mut fast = self.all_inside(a, a.n.into())?;
        let mut mask = self.exec.mask;
        if mask.is_some() && !is_maskable {
            fast = self.e.and(fast, self.e.all(self.exec_mask())?)?;
            mask = None;
        }
        let mask = match mask {
            Some(mask) => Some(self.e.permute(mask, (0..elems).map(|i| i / a.n))?),
            None => None,
        };
        if const_int(fast) == Some(1) {
            self.store_registers(a, all, at, mask)?;
        } else {
            let store = |l: &mut Self| l.store_registers(a, all, at, mask);
            self.store_across_edge(all, a.n, a.elem_bytes(), &a.ptr, (at, fast), store)?;
        }
        Ok(true)
    }

    fn store_registers(
        &mut self,
        a: &Access<'c>,
        all: V<'c>,
        at: PointerValue<'c>,
        mask: Option<V<'c>>,
    ) -> Result<()> {
        debug_assert_eq!(elem_ty(all), self.e.scalar_ty(a.scalar));
        let length = self.register_length(a);
        for first in (0..lanes(all).unwrap_or(1)).step_by(length as usize) {
            let part = |l: &Self, v: V<'c>| l.e.permute(v, first..first + length);
            let register = part(self, all)?;
            let mask = mask.map(|mask| part(self, mask)).transpose()?;
            let at = self.e.field(at, u64::from(first) * a.elem_bytes())?;
            self.store_vector(register, at, mask)?;
        }
        Ok(())
    }

    /// Elements of a register.
    fn register_length(&self, a: &Access<'c>) -> u32 {
        (self.e.caps.register_bytes / a.elem_bytes() as u32).min(a.n * self.w)
    }
}
