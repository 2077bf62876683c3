//! Atomic operations.

use crate::lower::{Lower, Ptr};
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{AtomicOp, Inst, Scalar};

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
        let at = self.place(p)?;
        Ok(self.e.atomic(op, s, at, xs)?.into_iter().collect())
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
