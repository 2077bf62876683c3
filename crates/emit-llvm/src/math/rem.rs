//! The remainder of a division, with the sign of the dividend: exact, as C's `fmod`.
//!
//! Both numbers are integers times a power of two; the larger one is shifted up to the power of the smaller a few bits at
//! a time, and reduced modulo its integer each time.

use crate::error::{Error, Result};
use crate::{Emit, V, lanes};
use inkwell::IntPredicate as P;
use inkwell::values::InstructionOpcode as I;
use phalanx_ir::{BinaryOp, ConvertKind, ConvertOp, Scalar};

/// Bits that a number below 2^53 may be shifted by without leaving 64.
const STEP: u64 = 11;
const SIGN: u64 = 1 << 63;
const INFINITY: u64 = 0x7ff << 52;
const NAN: u64 = 0x7ff8 << 48;

impl<'c> Emit<'c> {
    /// Of any type, in `f64`: the remainder is a number of the narrower types, too.
    pub(super) fn float_remainder(&mut self, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        if lanes(x).is_some() {
            return Err(Error::unsupported(format!("remainders of vectors of {s}")));
        }
        if s == Scalar::F64 {
            return self.remainder_f64(x, y);
        }
        let widen = ConvertOp::new(ConvertKind::FToF);
        let (x, y) = (self.convert(widen, s, Scalar::F64, x)?, self.convert(widen, s, Scalar::F64, y)?);
        let rest = self.remainder_f64(x, y)?;
        self.convert(widen, Scalar::F64, s, rest)
    }

    fn remainder_f64(&mut self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let (x, y) = (self.bits_of(x)?, self.bits_of(y)?);
        let sign = self.and(x, self.i64(SIGN.cast_signed()))?;
        let magnitude = self.int(64, !SIGN);
        let (dividend, divisor) = (self.and(x, magnitude)?, self.and(y, magnitude)?);
        // What is no number, or infinite, or divided by zero has none.
        let infinity = self.int(64, INFINITY);
        let is_number = self.icmp(P::ULT, dividend, infinity)?;
        let less = self.sub(divisor, self.i64(1))?;
        let divides = self.icmp(P::ULT, less, infinity)?;
        let is_defined = self.and(is_number, divides)?;
        let is_smaller = self.icmp(P::ULT, dividend, divisor)?;
        let other = self.select(is_smaller, x, self.int(64, NAN))?;
        let other = self.select(is_defined, other, self.int(64, NAN))?;
        let needs_division = self.and(is_defined, self.not(is_smaller)?)?;
        let before = self.here()?;
        let function = before.get_parent().ok_or_else(|| Error::bug("a block without a function"))?;
        let [divide, head, step, end, done] =
            ["divide", "reduce", "step", "reduced", "rest"].map(|name| self.new_block(function, name));
        self.cond_br(needs_division, divide, done)?;

        self.b.position_at_end(divide);
        let (number, exponent) = self.integer_and_exponent(dividend)?;
        let (modulus, least) = self.integer_and_exponent(divisor)?;
        let count = self.sub(exponent, least)?;
        let first = self.bin(I::URem, number, modulus)?;
        self.br(head)?;

        self.b.position_at_end(head);
        let [rest, left] = [0, 1].map(|_| self.b.build_phi(self.cx.i64_type(), ""));
        let (rest, left) = (rest?, left?);
        rest.add_incoming(&[(&first, divide)]);
        left.add_incoming(&[(&count, divide)]);
        let (rest_now, left_now) = (rest.as_basic_value(), left.as_basic_value());
        let is_done = self.icmp(P::EQ, left_now, self.i64(0))?;
        self.cond_br(is_done, end, step)?;

        self.b.position_at_end(step);
        let bits = self.map2("llvm.umin", left_now, self.int(64, STEP))?;
        let next = self.bin(I::URem, self.shl(rest_now, bits)?, modulus)?;
        let fewer = self.sub(left_now, bits)?;
        rest.add_incoming(&[(&next, step)]);
        left.add_incoming(&[(&fewer, step)]);
        self.br(head)?;

        self.b.position_at_end(end);
        let float = self.cast(I::UIToFP, rest_now, self.cx.f64_type())?;
        let power = self.zext_trunc(self.sub(least, self.i64(1075))?, 32)?;
        let value = self.binary(BinaryOp::Ldexp, Scalar::F64, float, power, true)?;
        let value = self.or(self.bits_of(value)?, sign)?;
        let after = self.here()?;
        self.br(done)?;
        self.b.position_at_end(done);
        let bits = self.merge(&[(value, after), (other, before)])?;
        self.float_of(bits)
    }

    /// A positive `f64`, given by its bits, as an integer below 2^53 times 2^(exponent - 1075).
    fn integer_and_exponent(&mut self, bits: V<'c>) -> Result<(V<'c>, V<'c>)> {
        let field = self.lshr(bits, self.i64(52))?;
        let fraction = self.and(bits, self.i64((1 << 52) - 1))?;
        let is_denormal = self.icmp(P::EQ, field, self.i64(0))?;
        let normal = self.or(fraction, self.i64(1 << 52))?;
        let number = self.select(is_denormal, fraction, normal)?;
        Ok((number, self.select(is_denormal, self.i64(1), field)?))
    }
}
