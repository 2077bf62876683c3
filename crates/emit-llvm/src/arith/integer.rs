//! Integers: shifts, high products, quotients and remainders.

use crate::error::Result;
use crate::{Emit, V, elem_ty, int_bits, lanes};
use inkwell::IntPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValue, InstructionOpcode};
use phalanx_ir::BinaryOp;

impl<'c> Emit<'c> {
    pub(super) fn highest_bit(&mut self, x: V<'c>) -> Result<V<'c>> {
        let no = self.bool(false);
        let above = self.intrinsic("llvm.ctlz", &[x.get_type()], &[x, no])?;
        // Without a bit set there are as many zeros as bits, which gives all ones.
        self.sub(self.int_like(x, u64::from(int_bits(x)) - 1), above)
    }

    /// The shift count is taken modulo the width.
    pub(super) fn shift(&mut self, op: InstructionOpcode, x: V<'c>, count: V<'c>) -> Result<V<'c>> {
        let bits = int_bits(x);
        let count = self.zext_trunc(count, bits)?;
        let count = self.and(count, self.int_like(x, u64::from(bits) - 1))?;
        self.bin(op, x, count)
    }

    pub(super) fn mul_high(&mut self, x: V<'c>, y: V<'c>, extend: InstructionOpcode) -> Result<V<'c>> {
        let bits = int_bits(x);
        let wide = self.int_ty(2 * bits);
        let (a, b) = (self.cast(extend, x, wide)?, self.cast(extend, y, wide)?);
        let product = self.mul(a, b)?;
        let high = self.lshr(product, self.int_like(product, bits.into()))?;
        self.zext_trunc(high, bits)
    }

    /// Quotients and remainders; 0 when dividing by 0.
    pub(super) fn int_division(&mut self, op: BinaryOp, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let signed = matches!(op, BinaryOp::Sdiv | BinaryOp::Srem | BinaryOp::Smod);
        let is_quotient = matches!(op, BinaryOp::Sdiv | BinaryOp::Udiv);
        let result = match lanes(x).is_some() && int_bits(x) == 64 && !y.is_const() {
            true => self.divide_elements(is_quotient, signed, x, y)?,
            false => self.divide(is_quotient, signed, x, y)?,
        };
        let zero = self.int_like(y, 0);
        if is_quotient {
            let by_zero = self.icmp(IntPredicate::EQ, y, zero)?;
            return self.select(by_zero, zero, result);
        }
        if op != BinaryOp::Smod {
            return Ok(result);
        }
        let sum = self.add(result, y)?;
        let signs = self.xor(result, y)?;
        let opposite = self.icmp(IntPredicate::SLT, signs, zero)?;
        let inexact = self.icmp(IntPredicate::NE, result, zero)?;
        self.select(self.and(opposite, inexact)?, sum, result)
    }

    /// A quotient or a remainder, the remainder of dividing by 0 being 0.
    fn divide(&mut self, is_quotient: bool, signed: bool, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let mut refused = self.icmp(IntPredicate::EQ, y, self.int_like(y, 0))?;
        if signed {
            let minus_one = self.icmp(IntPredicate::EQ, y, self.int_like(y, u64::MAX))?;
            let least = self.icmp(IntPredicate::EQ, x, self.int_like(x, 1 << (int_bits(x) - 1)))?;
            refused = self.or(refused, self.and(minus_one, least)?)?;
        }
        // With 1 as the divisor, the least number gives itself, which is what wrapping means, and
        // every remainder is 0.
        let divisor = self.select(refused, self.int_like(y, 1), y)?;
        match is_quotient {
            true => self.quotient(signed, x, divisor),
            false => self.remainder(signed, x, divisor),
        }
    }

    /// [`Self::divide`] for vectors that are divided as integers. There no select may guard the
    /// divisor: LLVM 19 takes the whole vector of quotients for poison where one element of the
    /// divisor is 0, looks at the arms of a select by themselves, and keeps the other arm. So the
    /// magnitudes are divided, by 1 at least.
    fn divide_elements(&mut self, is_quotient: bool, signed: bool, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        use InstructionOpcode as I;
        let no = self.bool(false);
        let mut magnitude = |v: V<'c>| match signed {
            true => self.intrinsic("llvm.abs", &[v.get_type()], &[v, no]),
            false => Ok(v),
        };
        let (a, b) = (magnitude(x)?, magnitude(y)?);
        let b = self.map2("llvm.umax", b, self.int_like(b, 1))?;
        let result = self.bin(if is_quotient { I::UDiv } else { I::URem }, a, b)?;
        if !signed {
            return Ok(result);
        }
        // A quotient has the sign of both operands, a remainder that of the dividend.
        let sign = if is_quotient { self.xor(x, y)? } else { x };
        let zero = self.int_like(x, 0);
        let negative = self.icmp(IntPredicate::SLT, sign, zero)?;
        self.select(negative, self.sub(zero, result)?, result)
    }

    /// A quotient that neither divides by zero nor overflows.
    fn quotient(&mut self, signed: bool, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        use InstructionOpcode as I;
        let bits = int_bits(x);
        if lanes(x).is_none() || bits == 64 || y.is_const() {
            return self.bin(if signed { I::SDiv } else { I::UDiv }, x, y);
        }
        // Vectors of integers can't be divided by the processors we know, vectors of floats can.
        // The rounded quotient is at most the exact one rounded up to the next integer if that is
        // nearer than 1/y, which it never is with these widths.
        let float: BasicTypeEnum<'c> =
            if bits <= 16 { self.cx.f32_type().into() } else { self.cx.f64_type().into() };
        let (to_float, to_int) = if signed { (I::SIToFP, I::FPToSI) } else { (I::UIToFP, I::FPToUI) };
        let (a, b) = (self.cast(to_float, x, float)?, self.cast(to_float, y, float)?);
        let q = self.bin(I::FDiv, a, b)?;
        self.cast(to_int, q, elem_ty(x))
    }

    fn remainder(&mut self, signed: bool, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        use InstructionOpcode as I;
        if lanes(x).is_none() || int_bits(x) == 64 || y.is_const() {
            return self.bin(if signed { I::SRem } else { I::URem }, x, y);
        }
        let q = self.quotient(signed, x, y)?;
        self.sub(x, self.mul(q, y)?)
    }
}
