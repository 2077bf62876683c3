//! `pow`, as 2^(y · log2 |x|) in `f64`, with the special values of C.

use crate::error::Result;
use crate::{Emit, V};
use inkwell::FloatPredicate as P;
use phalanx_polynomials::EXP2_F64;

/// 2^23: the sum of this and a smaller non-negative `f32` is an integer.
const INTEGER_F32: f32 = 8_388_608.0;

impl<'c> Emit<'c> {
    /// x^y.
    pub(super) fn pow(&mut self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let magnitude = self.magnitude(x)?;
        let wide = self.widened(magnitude)?;
        let log = self.log2_f64(wide)?;
        let log = self.choose(wide, P::OLT, self.num(f64::INFINITY, wide), log, wide)?;
        let least = self.num(f64::NEG_INFINITY, wide);
        let log = self.choose(wide, P::OEQ, self.num(0.0, wide), least, log)?;
        let product = self.fmul(log, self.widened(y)?)?;
        // Beyond ±200 the result is 0 or infinite whatever the exact product.
        let product = self.clamped(product, [-200.0, 200.0])?;
        let value = self.exp2_f64(product)?;
        let value = self.narrowed(value)?;
        self.finish_pow(x, y, value)
    }

    /// 2^x of an `f64` with a relative error of 2^-31. Needs |x| ≤ 1000.
    fn exp2_f64(&mut self, x: V<'c>) -> Result<V<'c>> {
        let (k, bits) = self.round_scaled(x, 1.0)?;
        let rest = self.fsub(x, k)?;
        let p = self.even_odd(rest, &EXP2_F64)?;
        let p = self.madd_num(p, rest, 1.0)?;
        let biased = self.add(bits, self.int_like(bits, 1023))?;
        let power = self.float_of(self.shl(biased, self.int_like(bits, 52))?)?;
        self.fmul(p, power)
    }

    /// x^y from |x|^y: the sign of an odd power, NaN for a root of a negative number, and what C fixes to be one.
    fn finish_pow(&mut self, x: V<'c>, y: V<'c>, value: V<'c>) -> Result<V<'c>> {
        let (magnitude, exponent) = (self.magnitude(x)?, self.magnitude(y)?);
        let (zero, one, infinity) = (self.num(0.0, x), self.num(1.0, x), self.num(f32::INFINITY, x));
        let integer = self.num(INTEGER_F32, x);
        // From 2^23 on every y is an integer, its own last bit telling whether an odd one; from 2^24 on all are even, as
        // the limit is.
        let limit = self.num(16_777_216.0, x);
        let exponent = self.choose(exponent, P::OLT, limit, exponent, limit)?;
        let shifted = self.fadd(exponent, integer)?;
        let is_large = self.fcmp(P::OGE, exponent, integer)?;
        let parity = self.bits_of(self.select(is_large, exponent, shifted)?)?;
        let rounded = self.select(is_large, exponent, self.fsub(shifted, integer)?)?;
        let odd = self.shl(parity, self.int_like(parity, 31))?;
        let sign = self.and(self.sign_bit(x)?, odd)?;
        let signed = self.flip_sign(value, sign)?;
        // A NaN is no integer, but stands for the limit above; its power is one already.
        let is_negative = self.fcmp(P::OLT, x, zero)?;
        let is_finite = self.fcmp(P::OLT, magnitude, infinity)?;
        let is_root = self.and(is_negative, is_finite)?;
        let other = self.select(is_root, self.num(f32::NAN, x), value)?;
        let value = self.choose(rounded, P::OEQ, exponent, signed, other)?;
        let is_unit = self.fcmp(P::OEQ, magnitude, one)?;
        let y_magnitude = self.magnitude(y)?;
        let is_endless = self.fcmp(P::OEQ, y_magnitude, infinity)?;
        let value = self.select(self.and(is_unit, is_endless)?, one, value)?;
        let value = self.choose(x, P::OEQ, one, one, value)?;
        self.choose(y, P::OEQ, zero, one, value)
    }
}
