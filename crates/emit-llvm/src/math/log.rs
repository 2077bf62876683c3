//! `log`, `log2`, and the inverse hyperbolic functions that are made of a logarithm in `f64`.

use crate::error::Result;
use crate::{Emit, V};
use inkwell::FloatPredicate as P;
use inkwell::values::InstructionOpcode as I;
use phalanx_polynomials::{LN2_PARTS, LOG, LOG2, LOG2_F64};
use std::f64::consts::LN_2;

impl<'c> Emit<'c> {
    /// Mantissa of a positive `f32` in [√½, √2), less one, and the exponent that belongs to it. Denormals are scaled first.
    fn split_exponent(&mut self, x: V<'c>) -> Result<(V<'c>, V<'c>)> {
        const SQRT_HALF: u64 = 0x3f35_04f3;
        let is_denormal = self.fcmp(P::OLT, x, self.num(f32::MIN_POSITIVE, x))?;
        let larger = self.fmul(x, self.num(8_388_608.0, x))?;
        let bits = self.bits_of(self.select(is_denormal, larger, x)?)?;
        let above = self.sub(bits, self.int_like(bits, SQRT_HALF))?;
        let exponent = self.ashr(above, self.int_like(bits, 23))?;
        let power = self.shl(exponent, self.int_like(bits, 23))?;
        let mantissa = self.float_of(self.sub(bits, power)?)?;
        let less = self.sub(exponent, self.int_like(exponent, 23))?;
        let exponent = self.select(is_denormal, less, exponent)?;
        let exponent = self.cast(I::SIToFP, exponent, self.cx.f32_type())?;
        Ok((self.fsub(mantissa, self.num(1.0, x))?, exponent))
    }

    /// `value` for a positive and finite x, otherwise what C says.
    fn log_specials(&mut self, x: V<'c>, value: V<'c>) -> Result<V<'c>> {
        let (zero, infinity) = (self.num(0.0, x), self.num(f32::INFINITY, x));
        let value = self.choose(x, P::OEQ, infinity, infinity, value)?;
        let value = self.choose(x, P::OGT, zero, value, self.num(f32::NAN, x))?;
        self.choose(x, P::OEQ, zero, self.num(f32::NEG_INFINITY, x), value)
    }

    /// Natural logarithm.
    pub(super) fn log(&mut self, x: V<'c>) -> Result<V<'c>> {
        let [high, low] = LN2_PARTS.map(|part| self.num(part, x));
        let (f, e) = self.split_exponent(x)?;
        let square = self.fmul(f, f)?;
        let p = self.even_odd_of(f, square, &LOG)?;
        let tail = self.madd(self.fmul(p, f)?, square, self.fmul(e, low)?)?;
        let tail = self.madd(square, self.num(-0.5, x), tail)?;
        let value = self.madd(e, high, self.fadd(f, tail)?)?;
        self.log_specials(x, value)
    }

    /// Logarithm to base 2.
    pub(super) fn log2(&mut self, x: V<'c>) -> Result<V<'c>> {
        let (f, e) = self.split_exponent(x)?;
        let square = self.fmul(f, f)?;
        let p = self.even_odd_of(f, square, &LOG2)?;
        let tail = self.madd(f, self.num(std::f32::consts::LOG2_E, x), self.fmul(p, square)?)?;
        let value = self.fadd(e, tail)?;
        self.log_specials(x, value)
    }

    /// Logarithm to base 2 of a positive normal `f64`, with a relative error of 2^-35.
    pub(super) fn log2_f64(&mut self, x: V<'c>) -> Result<V<'c>> {
        const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
        let bits = self.bits_of(x)?;
        let above = self.sub(bits, self.int_like(bits, SQRT_HALF))?;
        let exponent = self.ashr(above, self.int_like(bits, 52))?;
        let power = self.shl(exponent, self.int_like(bits, 52))?;
        let mantissa = self.float_of(self.sub(bits, power)?)?;
        let f = self.fsub(mantissa, self.num(1.0, x))?;
        let e = self.cast(I::SIToFP, self.zext_trunc(exponent, 32)?, self.cx.f64_type())?;
        let p = self.even_odd(f, &LOG2_F64)?;
        self.madd(f, p, e)
    }

    /// ln (x + √(x² + 1)).
    pub(super) fn asinh(&mut self, x: V<'c>) -> Result<V<'c>> {
        let magnitude = self.magnitude(x)?;
        let wide = self.widened(magnitude)?;
        let value = self.log_of_sum_with_root(wide, 1.0)?;
        let value = self.choose(wide, P::OLT, self.num(2.0_f64.powi(-12), wide), wide, value)?;
        let value = self.choose(wide, P::OLT, self.num(f64::INFINITY, wide), value, wide)?;
        self.flip_sign(self.narrowed(value)?, self.sign_bit(x)?)
    }

    /// ln (x + √(x² − 1)); NaN below 1.
    pub(super) fn acosh(&mut self, x: V<'c>) -> Result<V<'c>> {
        let wide = self.widened(x)?;
        let value = self.log_of_sum_with_root(wide, -1.0)?;
        let value = self.choose(wide, P::OLT, self.num(f64::INFINITY, wide), value, wide)?;
        let value = self.choose(wide, P::OLT, self.num(1.0, wide), self.num(f64::NAN, wide), value)?;
        self.narrowed(value)
    }

    /// ln (x + √(x² + c)).
    fn log_of_sum_with_root(&mut self, x: V<'c>, c: f64) -> Result<V<'c>> {
        let square = self.madd_num(x, x, c)?;
        let root = self.map1("llvm.sqrt", square)?;
        let log = self.log2_f64(self.fadd(x, root)?)?;
        self.fmul(log, self.num(LN_2, x))
    }

    /// ½ ln ((1 + x) / (1 − x)); ±∞ at ±1, NaN beyond.
    pub(super) fn atanh(&mut self, x: V<'c>) -> Result<V<'c>> {
        let magnitude = self.magnitude(x)?;
        let wide = self.widened(magnitude)?;
        let one = self.num(1.0, wide);
        let ratio = self.fdiv(self.fadd(one, wide)?, self.fsub(one, wide)?)?;
        let log = self.log2_f64(ratio)?;
        let value = self.fmul(log, self.num(0.5 * LN_2, wide))?;
        let value = self.choose(wide, P::OLT, self.num(2.0_f64.powi(-12), wide), wide, value)?;
        let value = self.choose(wide, P::OLT, one, value, self.num(f64::NAN, wide))?;
        let value = self.choose(wide, P::OEQ, one, self.num(f64::INFINITY, wide), value)?;
        self.flip_sign(self.narrowed(value)?, self.sign_bit(x)?)
    }
}
