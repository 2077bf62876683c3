//! The formats of floats.

use crate::cx::Cx;
use crate::diag::{Res, operand};
use crate::ops::componentwise as cw;
use phalanx_ir::{Scalar, Value};

/// How an IEEE 754 format divides its bits.
#[derive(Clone, Copy)]
pub(in crate::ops) struct FloatFormat {
    /// The integer type as wide.
    pub(in crate::ops) int: Scalar,
    /// Bits of the mantissa that are stored.
    pub(in crate::ops) mantissa: u32,
    /// What is added to exponents.
    pub(in crate::ops) bias: u32,
}

impl FloatFormat {
    /// The format of a value.
    pub(in crate::ops) fn of(cx: &Cx<'_>, v: Value) -> Res<Self> {
        let ty = cw::scalar_ty(cx, v)?;
        match ty {
            Scalar::F16 => Ok(Self { int: Scalar::I16, mantissa: 10, bias: 15 }),
            Scalar::F32 => Ok(Self { int: Scalar::I32, mantissa: 23, bias: 127 }),
            Scalar::F64 => Ok(Self { int: Scalar::I64, mantissa: 52, bias: 1023 }),
            _ => Err(operand(format!("expected f16, f32 or f64, found {ty}"))),
        }
    }

    /// The bits of positive infinity.
    pub(in crate::ops) fn infinity(self) -> u64 {
        u64::from(2 * self.bias + 1) << self.mantissa
    }

    /// The bits of the least normal number.
    pub(in crate::ops) fn least_normal(self) -> u64 {
        1 << self.mantissa
    }
}
