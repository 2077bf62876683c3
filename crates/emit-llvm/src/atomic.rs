//! Atomic operations on a scalar in memory, all relaxed.
//!
//! Integers have instructions. Floats are compared and exchanged until nobody else came between: where there are
//! instructions that add floats in memory, they lose denormals.

use crate::error::{Error, Result};
use crate::{Emit, V};
use inkwell::types::BasicType;
use inkwell::values::{BasicValue, PointerValue};
use inkwell::{AtomicOrdering, AtomicRMWBinOp};
use phalanx_ir::{AtomicOp, BinaryOp, Scalar};

/// Relaxed.
const ORDER: AtomicOrdering = AtomicOrdering::Monotonic;

impl<'c> Emit<'c> {
    /// An operation on what is at a place; gives what was there, but for a store.
    pub fn atomic(
        &mut self,
        op: AtomicOp,
        s: Scalar,
        at: PointerValue<'c>,
        xs: &[V<'c>],
    ) -> Result<Option<V<'c>>> {
        use AtomicRMWBinOp as R;
        let operand =
            || xs.first().copied().ok_or_else(|| Error::bug("an atomic operation lacks its operand"));
        let rmw = match op {
            AtomicOp::Load => {
                let v = self.atomic_load(self.int_ty(s.bits()), at, s.bytes())?;
                // A loop that waits for another's write must read again.
                self.set_volatile(v)?;
                return self.with_bits(s, v).map(Some);
            }
            AtomicOp::Store => {
                let x = self.as_bits(s, operand()?)?;
                let store = self.store(x, at, s.bytes())?;
                store.set_atomic_ordering(ORDER).map_err(|e| Error::bug(e.to_string()))?;
                return Ok(None);
            }
            AtomicOp::CompareExchange => {
                let [value, comparator] = xs else {
                    return Err(Error::bug("compare-and-exchange has two operands"));
                };
                let (new, old) = (self.as_bits(s, *value)?, self.as_bits(s, *comparator)?);
                let (found, _) = self.compare_exchange(at, old, new)?;
                return self.with_bits(s, found).map(Some);
            }
            AtomicOp::Fadd => return self.atomic_binary(BinaryOp::Fadd, s, at, operand()?).map(Some),
            AtomicOp::Fmin => return self.atomic_binary(BinaryOp::Fmin, s, at, operand()?).map(Some),
            AtomicOp::Fmax => return self.atomic_binary(BinaryOp::Fmax, s, at, operand()?).map(Some),
            AtomicOp::Exchange => R::Xchg,
            AtomicOp::Iadd => R::Add,
            AtomicOp::Isub => R::Sub,
            AtomicOp::Smin => R::Min,
            AtomicOp::Smax => R::Max,
            AtomicOp::Umin => R::UMin,
            AtomicOp::Umax => R::UMax,
            AtomicOp::And => R::And,
            AtomicOp::Or => R::Or,
            AtomicOp::Xor => R::Xor,
        };
        let x = self.as_bits(s, operand()?)?;
        let old = self.atomic_exchange_with(rmw, at, x)?;
        self.with_bits(s, old).map(Some)
    }

    /// An operation on integers that is one instruction; gives what was there.
    pub fn atomic_exchange_with(&self, op: AtomicRMWBinOp, at: PointerValue<'c>, x: V<'c>) -> Result<V<'c>> {
        Ok(self.b.build_atomicrmw(op, at, x.into_int_value(), ORDER)?.into())
    }

    /// Reads a scalar all at once.
    pub fn atomic_load(&self, ty: impl BasicType<'c>, at: PointerValue<'c>, bytes: u32) -> Result<V<'c>> {
        let v = self.load(ty, at, bytes)?;
        if let Some(inst) = v.as_instruction_value() {
            inst.set_atomic_ordering(ORDER).map_err(|e| Error::bug(e.to_string()))?;
        }
        Ok(v)
    }

    fn atomic_binary(&mut self, op: BinaryOp, s: Scalar, at: PointerValue<'c>, x: V<'c>) -> Result<V<'c>> {
        self.atomic_update(s, at, |e, old| e.binary(op, s, old, x, true))
    }

    /// Replaces `old` (integers) if it is there; gives what was there, and whether it was.
    fn compare_exchange(&self, at: PointerValue<'c>, old: V<'c>, new: V<'c>) -> Result<(V<'c>, V<'c>)> {
        let pair = self.b.build_cmpxchg(at, old.into_int_value(), new.into_int_value(), ORDER, ORDER)?;
        let found = self.b.build_extract_value(pair, 0, "")?;
        Ok((found, self.b.build_extract_value(pair, 1, "")?))
    }

    /// Replaces a scalar by what is made of it, and tries until nobody else has written in between; gives what was there.
    pub fn atomic_update(
        &mut self,
        s: Scalar,
        at: PointerValue<'c>,
        new: impl FnOnce(&mut Self, V<'c>) -> Result<V<'c>>,
    ) -> Result<V<'c>> {
        let int = self.int_ty(s.bits());
        let first = self.atomic_load(int, at, s.bytes())?;
        let before = self.here()?;
        let function = before.get_parent().ok_or_else(|| Error::bug("a block without a function"))?;
        let [again, done] = ["atomic", "atomic_done"].map(|name| self.new_block(function, name));
        self.br(again)?;
        self.b.position_at_end(again);
        let phi = self.b.build_phi(int.as_basic_type_enum(), "old")?;
        phi.add_incoming(&[(&first, before)]);
        let old_bits = phi.as_basic_value();
        let old = self.with_bits(s, old_bits)?;
        let new = new(self, old)?;
        let new = self.as_bits(s, new)?;
        let (found, ok) = self.compare_exchange(at, old_bits, new)?;
        phi.add_incoming(&[(&found, self.here()?)]);
        self.cond_br(ok, done, again)?;
        self.b.position_at_end(done);
        Ok(old)
    }

    /// A scalar as the integer with its bits.
    pub fn as_bits(&self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.bitcast(x, self.ty_like(self.int_ty(s.bits()), x))
    }

    /// The scalar with the bits of an integer.
    pub fn with_bits(&self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.bitcast(x, self.ty_like(self.scalar_ty(s), x))
    }
}
