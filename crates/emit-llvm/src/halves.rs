//! Vectors of halves, of which LLVM 19 compares some badly.
//!
//! A processor with arithmetic on halves compares them, but LLVM 19 swaps the operands of such a comparison under
//! a mask without turning it round, where the first one has been spilled (`VCMPPH` with a mask and an operand in
//! memory). Equality does not mind; for the others the numbers are compared as integers.

use crate::{Emit, Result, V, elem_ty, lanes};
use inkwell::{FloatPredicate, IntPredicate};

impl<'c> Emit<'c> {
    /// The comparison of integers that this one of two vectors of halves becomes, and whether it is false of NaNs.
    pub fn order_of_halves(&self, p: FloatPredicate, x: V<'c>) -> Option<(IntPredicate, bool)> {
        let are_halves = lanes(x).is_some() && elem_ty(x) == self.cx.f16_type().into();
        let order = match p {
            FloatPredicate::OLT => (IntPredicate::SLT, true),
            FloatPredicate::OLE => (IntPredicate::SLE, true),
            FloatPredicate::OGT => (IntPredicate::SGT, true),
            FloatPredicate::OGE => (IntPredicate::SGE, true),
            FloatPredicate::ULT => (IntPredicate::SLT, false),
            FloatPredicate::ULE => (IntPredicate::SLE, false),
            FloatPredicate::UGT => (IntPredicate::SGT, false),
            FloatPredicate::UGE => (IntPredicate::SGE, false),
            _ => return None,
        };
        are_halves.then_some(order)
    }

    /// Compares vectors of halves as integers.
    pub fn compare_halves(&self, (p, is_ordered): (IntPredicate, bool), x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let holds = self.icmp(p, self.rank(x)?, self.rank(y)?)?;
        match is_ordered {
            true => self.and(holds, self.fcmp(FloatPredicate::ORD, x, y)?),
            false => self.or(holds, self.fcmp(FloatPredicate::UNO, x, y)?),
        }
    }

    /// The second of two vectors of halves where it is better or the first is NaN, otherwise the first; found out without
    /// converting them.
    pub fn pick_half(&self, better: IntPredicate, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let is_better = self.icmp(better, self.rank(y)?, self.rank(x)?)?;
        let ty = x.get_type();
        let (x, y) = (self.words(x)?, self.words(y)?);
        let is_number = self.not(self.are_nan(y)?)?;
        let best = self.select(self.and(is_better, is_number)?, y, x)?;
        self.bitcast(self.select(self.are_nan(x)?, y, best)?, ty)
    }

    /// The bits of a vector of halves.
    fn words(&self, x: V<'c>) -> Result<V<'c>> {
        let words = self.vec_of(self.int_ty(16).into(), lanes(x).unwrap_or(1));
        self.bitcast(x, words.into())
    }

    /// Whether bits of halves are NaNs.
    fn are_nan(&self, bits: V<'c>) -> Result<V<'c>> {
        let magnitude = self.and(bits, self.int_like(bits, 0x7fff))?;
        self.icmp(IntPredicate::UGT, magnitude, self.int_like(magnitude, 0x7c00))
    }

    /// Integers in the order of the halves; 0 for both zeros.
    fn rank(&self, x: V<'c>) -> Result<V<'c>> {
        let bits = self.words(x)?;
        let magnitude = self.and(bits, self.int_like(bits, 0x7fff))?;
        let sign = self.ashr(bits, self.int_like(bits, 15))?;
        self.sub(self.xor(magnitude, sign)?, sign)
    }
}
