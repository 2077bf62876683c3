//! Images and texel buffers: the host does their operations, for all lanes at once.
//!
//! What a texel is and where it lies is only known when the code runs, so there is nothing to gain from doing it here.
//! The lanes' operands go to the stack, one operand after the other, and the results come back the same way.

use crate::abi::{ImageCode, offset};
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::prologue::Field;
use crate::value::{Lowered, Val};
use inkwell::types::BasicTypeEnum;
use inkwell::values::PointerValue;
use phalanx_ir::{Binding, BindingKind, ImageOp, Inst, Scalar, Value};

/// Numbers of the stack slots, which tell them from those that others use.
const PLACES: u32 = 0x1_0000;
const VALUES: u32 = 0x1_0001;

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_image(&mut self, inst: Inst, binding: Binding, op: ImageOp) -> Result<()> {
        let info = self.f.inst(inst);
        let BindingKind::Image(kind) = self.ir.binding(binding).kind else {
            return Err(Error::bug("an operation on images without an image"));
        };
        // The operands that say where, all of 32 bits, and those that say what.
        let places = match op {
            ImageOp::Store | ImageOp::Atomic(_) => 1 + kind.coordinates(),
            ImageOp::Load | ImageOp::Size | ImageOp::Levels | ImageOp::Sample(_) => info.args.len(),
        };
        let has_level = match op {
            ImageOp::Load => places > 1 + kind.coordinates(),
            ImageOp::Size => places > 1,
            ImageOp::Store | ImageOp::Atomic(_) | ImageOp::Levels | ImageOp::Sample(_) => false,
        };
        let (places, values) = info.args.split_at(places);
        let typed = info.results.first().or_else(|| values.first());
        let scalar = typed.map_or(Ok(Scalar::I32), |&v| self.scalar_ty(v))?;
        // What all lanes do alike is done once, but for what changes with each time.
        let lanes = match op {
            ImageOp::Atomic(_) => self.w,
            _ if info.args.iter().all(|&v| self.scalar(v).is_ok_and(|v| v.is_uniform())) => 1,
            _ => self.w,
        };
        let places = self.spill(places, Scalar::I32, PLACES, lanes, places.len())?;
        let room = values.len().max(info.results.len());
        let values = self.spill(values, scalar, VALUES, lanes, room)?;
        let mask = self.spill_active(lanes)?;
        let code = ImageCode { op, has_level, scalar, lanes }.to_bits();
        let (binding, code) = (self.e.i32(binding.index() as u32), self.e.int(64, code));
        let service = self.table_entry(Field::Services, offset::SERVICES_IMAGE as u64)?;
        let context = self.prologue.context.into();
        self.e.call(service, &[context, binding, code, mask.into(), places.into(), values.into()], None)?;
        for (number, &result) in info.results.iter().enumerate() {
            let (ty, at) = (self.spilled_ty(scalar, lanes), values_at(number, scalar, lanes));
            let v = self.e.load(ty, self.e.field(values, at)?, scalar.bytes())?;
            let v = if lanes == 1 { Val::uniform(v) } else { Val::varying(v) };
            self.define(result, Lowered::Scalar(v));
        }
        Ok(())
    }

    /// Writes the lanes' values to the stack, where there is room for `room` of them.
    fn spill(
        &mut self,
        values: &[Value],
        scalar: Scalar,
        slot: u32,
        lanes: u32,
        room: usize,
    ) -> Result<PointerValue<'c>> {
        let words = self.e.int_ty(scalar.bits()).array_type(room.max(1) as u32 * lanes);
        let slot = self.spill_slot(words.into(), slot)?;
        for (number, &value) in values.iter().enumerate() {
            let x = self.scalar(value)?;
            let x = if lanes == 1 { x.v } else { self.vector(x)? };
            let at = self.e.field(slot, values_at(number, scalar, lanes))?;
            self.e.store(x, at, scalar.bytes())?;
        }
        Ok(slot)
    }

    /// Writes to the stack which lanes execute.
    fn spill_active(&mut self, lanes: u32) -> Result<PointerValue<'c>> {
        let bits = match lanes {
            1 => self.e.int(128, 1),
            _ => {
                let bits = self.e.mask_bits(self.exec_mask())?;
                self.e.zext_trunc(bits, 128)?
            }
        };
        let slot = self.spill_slot(bits.get_type(), PLACES)?;
        self.e.store(bits, slot, 8)?;
        Ok(slot)
    }

    fn spilled_ty(&self, scalar: Scalar, lanes: u32) -> BasicTypeEnum<'c> {
        let ty = self.e.scalar_ty(scalar);
        if lanes == 1 { ty } else { self.e.vec_of(ty, lanes).into() }
    }
}

/// Where the lanes' value of a number lies.
fn values_at(number: usize, scalar: Scalar, lanes: u32) -> u64 {
    number as u64 * u64::from(scalar.bytes()) * u64::from(lanes)
}
