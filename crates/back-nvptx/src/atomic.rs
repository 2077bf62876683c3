//! Atomic operations.
//!
//! One that is not aligned would end the GPU; the IR only leaves open whether it is atomic, and it is done step by step.

use crate::lower::{Lower, Ptr};
use inkwell::IntPredicate;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{AtomicOp, BinaryOp, Inst, MemFlags, Scalar};

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_atomic(&mut self, inst: Inst, op: AtomicOp) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        let (p, align) = (self.ptr(info.args[0])?, self.align_of(info.args[0]));
        let s = match info.results.first() {
            Some(&result) => self.scalar_ty(result)?,
            None => self.scalar_ty(info.args[1])?,
        };
        let xs = info.args[1..].iter().map(|&v| self.scalar(v)).collect::<Result<Vec<_>>>()?;
        let has_result = !info.results.is_empty();
        let zero = self.e.zero(self.e.scalar_ty(s));
        let values = match self.inside(&p, s.bytes().into())? {
            None => self.atomic_at(op, s, &p, align, &xs)?,
            Some(inside) => {
                let nothing = if has_result { vec![zero] } else { Vec::new() };
                self.either(inside, |l| l.atomic_at(op, s, &p, align, &xs), |_| Ok(nothing))?
            }
        };
        if let Some(&v) = values.first().filter(|_| has_result) {
            self.set(inst, v);
        }
        Ok(())
    }

    /// What was there, but for a store.
    fn atomic_at(
        &mut self,
        op: AtomicOp,
        s: Scalar,
        p: &Ptr<'c>,
        align: u64,
        xs: &[V<'c>],
    ) -> Result<Vec<V<'c>>> {
        let (at, bytes) = (self.place(p)?, u64::from(s.bytes()));
        let atomically = |l: &mut Self| Ok(l.e.atomic(op, s, at, xs)?.into_iter().collect());
        if align >= bytes {
            return atomically(self);
        }
        let is_aligned = self.is_aligned(at, bytes)?;
        self.either(is_aligned, atomically, |l| l.in_steps(op, s, p, xs))
    }

    /// The same as a load and a store.
    fn in_steps(&mut self, op: AtomicOp, s: Scalar, p: &Ptr<'c>, xs: &[V<'c>]) -> Result<Vec<V<'c>>> {
        use BinaryOp as B;
        let flags = MemFlags { volatile: true, ..MemFlags::default() };
        let old = self.read(p, s, 1, 1, flags)?[0];
        let operand =
            || xs.first().copied().ok_or_else(|| Error::bug("an atomic operation lacks its operand"));
        let step = match op {
            AtomicOp::Load => return Ok(vec![old]),
            AtomicOp::Store => {
                self.write(p, s, &[operand()?], 1, flags)?;
                return Ok(Vec::new());
            }
            AtomicOp::Exchange => None,
            AtomicOp::CompareExchange => {
                let comparator =
                    *xs.get(1).ok_or_else(|| Error::bug("compare-and-exchange has two operands"))?;
                let (found, wanted) = (self.e.as_bits(s, old)?, self.e.as_bits(s, comparator)?);
                let is_there = self.e.icmp(IntPredicate::EQ, found, wanted)?;
                let new = self.e.select(is_there, operand()?, old)?;
                self.write(p, s, &[new], 1, flags)?;
                return Ok(vec![old]);
            }
            AtomicOp::Fadd => Some(B::Fadd),
            AtomicOp::Fmin => Some(B::Fmin),
            AtomicOp::Fmax => Some(B::Fmax),
            AtomicOp::Iadd => Some(B::Iadd),
            AtomicOp::Isub => Some(B::Isub),
            AtomicOp::Smin => Some(B::Smin),
            AtomicOp::Smax => Some(B::Smax),
            AtomicOp::Umin => Some(B::Umin),
            AtomicOp::Umax => Some(B::Umax),
            AtomicOp::And => Some(B::And),
            AtomicOp::Or => Some(B::Or),
            AtomicOp::Xor => Some(B::Xor),
        };
        let x = operand()?;
        let new = step.map_or(Ok(x), |step| self.e.binary(step, s, old, x, true))?;
        self.write(p, s, &[new], 1, flags)?;
        Ok(vec![old])
    }

    /// A scalar as the integer with its bits.
    pub(crate) fn as_bits(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.e.as_bits(s, x)
    }

    /// The scalar with the bits of an integer.
    pub(crate) fn with_bits(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.e.with_bits(s, x)
    }
}
