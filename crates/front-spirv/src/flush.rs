//! *DenormFlushToZero*: denormals that arithmetic takes or gives become zeros.
//!
//! The IR keeps denormals, so an entry point that must lose them gets the test spelled out around
//! each arithmetic instruction. Copies, loads, stores and reinterpretations keep every bit.

use crate::cx::Cx;
use crate::diag::Res;
use crate::opcode;
use crate::reader::{Id, Inst};
use crate::types::Ty;
use crate::value::Val;
use phalanx_ir::{self as ir, BinaryOp, CompareOp, Scalar, UnaryOp, Value, eval};

impl Cx<'_> {
    /// Before an instruction: lets it see its operands without denormals.
    pub(crate) fn flush_operands(&mut self, inst: &Inst<'_>) -> Res<()> {
        self.flushed.clear();
        if !self.modes.flushes_any() || !opcode::facts(self.spv, inst).flushes() {
            return Ok(());
        }
        for &id in opcode::values(inst) {
            let Ok(ty) = self.ty_of(id) else { continue };
            if self.is_flushed(ty) {
                let (ty, val) = self.val(id)?;
                let val = self.flush(ty, &val)?;
                self.flushed.insert(id, val);
            }
        }
        Ok(())
    }

    /// After an instruction: frees its result of denormals.
    pub(crate) fn flush_result(&mut self, inst: &Inst<'_>) -> Res<()> {
        self.flushed.clear();
        if !self.modes.flushes_any()
            || !opcode::facts(self.spv, inst).flushes()
            || !self.slots.contains_key(&inst.id)
        {
            return Ok(());
        }
        let ty = self.result_ty(inst)?;
        if !self.is_flushed(ty) {
            return Ok(());
        }
        let (_, val) = self.val(inst.id)?;
        let val = self.flush(ty, &val)?;
        self.define(inst, val)
    }

    /// Whether an instruction regards the signs of zeros.
    pub(crate) fn signed_zeros(&self, inst: &Inst<'_>) -> bool {
        self.modes.signed_zeros(self.spv, self.globals, inst)
    }

    /// An operand without its denormals, while an instruction is emitted that loses them.
    pub(crate) fn flushed(&self, id: Id) -> Option<Val> {
        self.flushed.get(&id).cloned()
    }

    fn is_flushed(&self, ty: Ty) -> bool {
        let is_matrix = self.types().coop_mat(ty).is_some();
        let scalar = self.types().scalar(ty).filter(|s| s.is_arithmetic_float() && !is_matrix);
        scalar.is_some_and(|s| self.modes.flushes(s.bits()))
    }

    /// The parts of an operand that a type does not show as floats, without their denormals.
    pub(crate) fn flush_parts(&mut self, parts: &mut [Value]) {
        for v in parts {
            let scalar = self.func.ty(*v).scalar();
            if scalar.is_some_and(|s| self.modes.flushes(s.bits())) {
                *v = self.flush_scalar(*v);
            }
        }
    }

    fn flush(&mut self, ty: Ty, val: &Val) -> Res<Val> {
        let mut values = self.flatten(ty, val)?;
        for v in &mut values {
            *v = self.flush_scalar(*v);
        }
        self.unflatten(ty, &values)
    }

    /// A scalar without its denormals.
    fn flush_scalar(&mut self, v: Value) -> Value {
        let ir::Type::Scalar(scalar) = self.func.ty(v) else { return v };
        let exponent = match scalar {
            Scalar::F16 => -14,
            Scalar::F32 => -126,
            _ => -1022,
        };
        let least = self.constant(scalar, eval::from_f64(scalar, 2_f64.powi(exponent)));
        let zero = self.constant(scalar, 0);
        let size = self.b().unary(UnaryOp::Fabs, v);
        let small = self.b().compare(CompareOp::FordLt, size, least);
        // Keeps the sign.
        let nothing = self.b().binary(BinaryOp::Fmul, v, zero);
        self.b().select(small, nothing, v)
    }
}
