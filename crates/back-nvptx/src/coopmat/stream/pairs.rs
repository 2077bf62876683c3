//! Bytes of neighbours as halves, two at a time.
//!
//! A function that decodes quantised weights takes some bits of a byte for each element ([`fields`](super::fields)), and
//! converts the number that they are.
//! A producer is one warp beside those that multiply, and waits for its own instructions, so their number counts. Two neighbours
//! are read at once, and masked, put under the exponents of halves (see [`small`](crate::small)) and made numbers together:
//!
//! ```text
//! the byte ─ shift ─▶ ─ mask ─▶ a number ─ subtract ─▶ ─ convert ─▶ a half                     each element
//! two bytes ─ mask ─▶ ─ permute ─▶ 1024 and a number, twice ─ subtract ─▶ two halves           two of them
//! ```

use super::fields::{Bits, Field};
use crate::lower::Lower;
use inkwell::types::VectorType;
use inkwell::values::InstructionOpcode as I;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Inst, Scalar};
use std::collections::HashMap;

/// Conversions of the elements of a run.
#[derive(Debug, Default)]
pub(crate) struct Pairs<'c> {
    /// Of each conversion, where its bits are.
    fields: HashMap<Inst, Field>,
    /// The element that is computed.
    pub(super) element: usize,
    /// Two bytes that were read by a load, by their place.
    read: HashMap<(Inst, u64), V<'c>>,
    /// The last two that were converted.
    halves: HashMap<Inst, V<'c>>,
}

impl Pairs<'_> {
    pub(super) fn of(fields: HashMap<Inst, Field>) -> Self {
        Self { fields, ..Self::default() }
    }

    /// Goes on to another run.
    pub(super) fn begin(&mut self) {
        self.element = 0;
        self.read.clear();
    }
}

impl<'c> Lower<'_, 'c> {
    /// What a conversion gives for the element that is computed, if its bits come in pairs.
    pub(crate) fn half_of_pair(&mut self, inst: Inst) -> Result<Option<V<'c>>> {
        let Some(pairs) = &self.pairs else { return Ok(None) };
        let Some(field) = pairs.fields.get(&inst) else { return Ok(None) };
        let element = pairs.element;
        if element.is_multiple_of(2) {
            let bits = field.bits(element).ok_or_else(|| Error::bug("bits of two bytes"))?;
            let (load, is_signed) = (field.load, field.is_signed);
            let mut both = self.two_bytes(load, bits)?;
            if bits.mask != 0xff {
                both = self.e.and(both, self.e.i32(bits.mask as u32 * 0x0101))?;
            }
            // The exponent of 1024, or less by what the number is shifted.
            let (exponent, order) = (self.e.i32(0x64 - 4 * bits.shift), self.e.i32(0x4140));
            both = self.e.intrinsic("llvm.nvvm.prmt", &[], &[both, exponent, order])?;
            if is_signed {
                both = self.e.xor(both, self.e.i32(0x0080_0080))?;
            }
            let ty = self.e.vec_of(self.e.cx.f16_type().into(), 2);
            let both = self.e.bitcast(both, ty.into())?.into_vector_value();
            let start = self.e.cx.f16_type().const_float(f64::from(1024 >> bits.shift) - bits.added as f64);
            let start = VectorType::const_vector(&[start, start]);
            let both = self.e.b.build_float_sub(both, start, "")?;
            self.pairs.as_mut().map(|pairs| pairs.halves.insert(inst, both.into()));
        }
        let both = self.pairs.as_ref().and_then(|pairs| pairs.halves.get(&inst).copied());
        let both = both.ok_or_else(|| Error::bug("the second of two without the first"))?;
        let half = self.e.extract_at(both, (element % 2) as u32)?;
        self.e.bitcast(half, self.e.scalar_ty(Scalar::F16)).map(Some)
    }

    /// The byte that has bits of the element that is computed, and the next one, in a word.
    fn two_bytes(&mut self, load: Inst, bits: Bits) -> Result<V<'c>> {
        let key = (load, bits.place);
        if let Some(&both) = self.pairs.as_ref().and_then(|pairs| pairs.read.get(&key)) {
            return Ok(both);
        }
        let p = self.ptr(self.f.inst(load).args[0])?;
        let at = self.place(&p)?;
        let at = self.e.field(at, bits.further)?;
        let both = self.e.load(self.e.cx.i16_type(), at, 2)?;
        let both = self.e.cast(I::ZExt, both, self.e.cx.i32_type())?;
        self.pairs.as_mut().map(|pairs| pairs.read.insert(key, both));
        Ok(both)
    }
}
