//! Atomic operations, all relaxed.
//!
//! Integers have instructions. Floats are compared and exchanged until nobody else came between: the instructions that add
//! floats in memory lose denormals.

use crate::lower::{Lower, Ptr};
use inkwell::types::BasicType;
use inkwell::values::{BasicValue, PointerValue};
use inkwell::{AtomicOrdering, AtomicRMWBinOp};
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{AtomicOp, BinaryOp, Inst, Scalar};

/// Relaxed.
pub(crate) const ORDER: AtomicOrdering = AtomicOrdering::Monotonic;

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_atomic(&mut self, inst: Inst, op: AtomicOp) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        let p = self.ptr(info.args[0])?;
        let s = match info.results.first() {
            Some(&result) => self.scalar_ty(result)?,
            None => self.scalar_ty(info.args[1])?,
        };
        if s.bits() < 32 {
            return Err(Error::unsupported(format!("atomic operations on {s}")));
        }
        let xs = info.args[1..].iter().map(|&v| self.scalar(v)).collect::<Result<Vec<_>>>()?;
        let has_result = !info.results.is_empty();
        let zero = self.e.zero(self.e.scalar_ty(s));
        let values = match self.inside(&p, s.bytes().into())? {
            None => self.atomic_at(op, s, &p, &xs)?,
            Some(inside) => {
                let nothing = if has_result { vec![zero] } else { Vec::new() };
                self.either(inside, |l| l.atomic_at(op, s, &p, &xs), |_| Ok(nothing))?
            }
        };
        if let Some(&v) = values.first().filter(|_| has_result) {
            self.set(inst, v);
        }
        Ok(())
    }

    /// What was there, but for a store.
    fn atomic_at(&mut self, op: AtomicOp, s: Scalar, p: &Ptr<'c>, xs: &[V<'c>]) -> Result<Vec<V<'c>>> {
        use AtomicRMWBinOp as R;
        let at = self.place(p)?;
        let operand =
            || xs.first().copied().ok_or_else(|| Error::bug("an atomic operation lacks its operand"));
        let rmw = match op {
            AtomicOp::Load => {
                let v = self.e.load(self.e.int_ty(s.bits()), at, s.bytes())?;
                self.make_atomic(v.as_instruction_value())?;
                // A loop that waits for another's write must read again.
                self.e.set_volatile(v)?;
                return Ok(vec![self.with_bits(s, v)?]);
            }
            AtomicOp::Store => {
                let x = self.as_bits(s, operand()?)?;
                let store = self.e.store(x, at, s.bytes())?;
                self.make_atomic(Some(store))?;
                return Ok(Vec::new());
            }
            AtomicOp::CompareExchange => {
                let [value, comparator] = xs else {
                    return Err(Error::bug("compare-and-exchange has two operands"));
                };
                let (new, old) = (self.as_bits(s, *value)?, self.as_bits(s, *comparator)?);
                let (found, _) = self.compare_exchange(at, old, new)?;
                return Ok(vec![self.with_bits(s, found)?]);
            }
            AtomicOp::Fadd => return Ok(vec![self.atomic_loop(BinaryOp::Fadd, s, at, operand()?)?]),
            AtomicOp::Fmin => return Ok(vec![self.atomic_loop(BinaryOp::Fmin, s, at, operand()?)?]),
            AtomicOp::Fmax => return Ok(vec![self.atomic_loop(BinaryOp::Fmax, s, at, operand()?)?]),
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
        let x = self.as_bits(s, operand()?)?.into_int_value();
        let old = self.e.b.build_atomicrmw(rmw, at, x, ORDER)?;
        Ok(vec![self.with_bits(s, old.into())?])
    }

    pub(crate) fn make_atomic(&self, inst: Option<inkwell::values::InstructionValue<'c>>) -> Result<()> {
        match inst {
            Some(inst) => inst.set_atomic_ordering(ORDER).map_err(|error| Error::bug(error.to_string())),
            None => Ok(()),
        }
    }

    /// Replaces `old` (integers) if it is there; gives what was there, and whether it was.
    fn compare_exchange(&mut self, at: PointerValue<'c>, old: V<'c>, new: V<'c>) -> Result<(V<'c>, V<'c>)> {
        let pair = self.e.b.build_cmpxchg(at, old.into_int_value(), new.into_int_value(), ORDER, ORDER)?;
        let found = self.e.b.build_extract_value(pair, 0, "")?;
        Ok((found, self.e.b.build_extract_value(pair, 1, "")?))
    }

    /// Tries until nobody else has written between the read and the write.
    fn atomic_loop(&mut self, op: BinaryOp, s: Scalar, at: PointerValue<'c>, x: V<'c>) -> Result<V<'c>> {
        let int = self.e.int_ty(s.bits());
        let first = self.e.load(int, at, s.bytes())?;
        self.make_atomic(first.as_instruction_value())?;
        let [again, done] = ["atomic", "atomic_done"].map(|name| self.new_block(name));
        let before = self.e.here()?;
        self.e.br(again)?;
        self.e.b.position_at_end(again);
        let phi = self.e.b.build_phi(int.as_basic_type_enum(), "old")?;
        phi.add_incoming(&[(&first, before)]);
        let old_bits = phi.as_basic_value();
        let old = self.with_bits(s, old_bits)?;
        let new = self.e.binary(op, s, old, x, true)?;
        let new = self.as_bits(s, new)?;
        let (found, ok) = self.compare_exchange(at, old_bits, new)?;
        phi.add_incoming(&[(&found, self.e.here()?)]);
        self.e.cond_br(ok, done, again)?;
        self.e.b.position_at_end(done);
        Ok(old)
    }

    /// A scalar as the integer with its bits.
    pub(crate) fn as_bits(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.e.bitcast(x, self.e.int_ty(s.bits()).into())
    }

    /// The scalar with the bits of an integer.
    pub(crate) fn with_bits(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.e.bitcast(x, self.e.scalar_ty(s))
    }
}
