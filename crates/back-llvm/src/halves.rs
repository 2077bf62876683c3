//! Which of two halves is less, on vectors.
//!
//! A processor with arithmetic on halves compares them, but LLVM 19 swaps the operands of such a comparison under
//! a mask without turning it round, where the first one has been spilled (`VCMPPH` with a mask and an operand in
//! memory). Equality does not mind; for the others the numbers are compared as integers.

use crate::emit::{Emit, V, elem_ty, lanes};
use crate::error::Result;
use inkwell::{FloatPredicate, IntPredicate};

impl<'c> Emit<'c> {
    /// The comparison of integers that this one of two vectors of halves becomes, and whether it is false of NaNs.
    pub(crate) fn order_of_halves(&self, p: FloatPredicate, x: V<'c>) -> Option<(IntPredicate, bool)> {
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
    pub(crate) fn compare_halves(
        &self,
        (p, is_ordered): (IntPredicate, bool),
        x: V<'c>,
        y: V<'c>,
    ) -> Result<V<'c>> {
        let holds = self.icmp(p, self.rank(x)?, self.rank(y)?)?;
        match is_ordered {
            true => self.and(holds, self.fcmp(FloatPredicate::ORD, x, y)?),
            false => self.or(holds, self.fcmp(FloatPredicate::UNO, x, y)?),
        }
    }

    /// Integers in the order of the halves; 0 for both zeros.
    fn rank(&self, x: V<'c>) -> Result<V<'c>> {
        let words = self.vec_of(self.int_ty(16).into(), lanes(x).unwrap_or(1));
        let bits = self.bitcast(x, words.into())?;
        let magnitude = self.and(bits, self.int_like(bits, 0x7fff))?;
        let sign = self.ashr(bits, self.int_like(bits, 15))?;
        self.sub(self.xor(magnitude, sign)?, sign)
    }
}
