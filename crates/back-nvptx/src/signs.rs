//! Signs of floats, changed as bits.
//!
//! PTX leaves open what `abs` and `neg` make of a NaN, and the IR does not. LLVM makes `abs` of a mask when it sees one, so
//! the instructions are written out.

use crate::lower::Lower;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::types::BasicType;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::Scalar;

impl<'c> Lower<'_, 'c> {
    /// The magnitude of an `f32` or an `f64`.
    pub(crate) fn clear_sign(&self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.with_mask("and", s, x, s.mask() >> 1)
    }

    /// The negative of an `f32` or an `f64`.
    pub(crate) fn flip_sign(&self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.with_mask("xor", s, x, 1 << (s.bits() - 1))
    }

    fn with_mask(&self, op: &str, s: Scalar, x: V<'c>, mask: u64) -> Result<V<'c>> {
        let bits = s.bits();
        let letter = if bits == 64 { "l" } else { "r" };
        let ty = self.e.int_ty(bits);
        let ty = ty.as_basic_type_enum().fn_type(&[ty.into()], false);
        let text = format!("{op}.b{bits} $0, $1, {mask:#x};");
        let constraints = format!("={letter},{letter}");
        let code = self.e.cx.create_inline_asm(ty, text, constraints, false, false, None, false);
        let call = self.e.b.build_indirect_call(ty, code, &[self.e.as_bits(s, x)?.into()], "")?;
        // Memory: neither read nor written.
        for name in ["nounwind", "willreturn", "memory"] {
            let kind = Attribute::get_named_enum_kind_id(name);
            call.add_attribute(AttributeLoc::Function, self.e.cx.create_enum_attribute(kind, 0));
        }
        let value = call.try_as_basic_value().basic();
        self.e.with_bits(s, value.ok_or_else(|| Error::bug("an instruction without a result"))?)
    }
}
