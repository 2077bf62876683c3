//! Functions that no instruction computes.

use crate::lower::Lower;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{BinaryOp, Scalar, UnaryOp};

impl<'c> Lower<'_, 'c> {
    /// An operation on scalars of type `s`. `exact` forbids fusing it with others.
    pub(crate) fn unary(&mut self, op: UnaryOp, s: Scalar, x: V<'c>, exact: bool) -> Result<V<'c>> {
        use UnaryOp as U;
        match op {
            U::Sin
            | U::Cos
            | U::Tan
            | U::Asin
            | U::Acos
            | U::Atan
            | U::Sinh
            | U::Cosh
            | U::Tanh
            | U::Asinh
            | U::Acosh
            | U::Atanh
            | U::Exp
            | U::Exp2
            | U::Log
            | U::Log2 => Err(Error::unsupported(format!("{op:?} of {s}"))),
            op => self.e.unary(op, s, x, exact),
        }
    }

    /// An operation on scalars of type `s`. `exact` forbids fusing it with others.
    pub(crate) fn binary(
        &mut self,
        op: BinaryOp,
        s: Scalar,
        x: V<'c>,
        y: V<'c>,
        exact: bool,
    ) -> Result<V<'c>> {
        match op {
            BinaryOp::Frem | BinaryOp::Pow | BinaryOp::Atan2 => {
                Err(Error::unsupported(format!("{op:?} of {s}")))
            }
            op => self.e.binary(op, s, x, y, exact),
        }
    }
}
