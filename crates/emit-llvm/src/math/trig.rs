//! `sin`, `cos` and `tan`.
//!
//! An argument beyond [`TRIG_LIMIT`] is an integer M below 2^24 times a power of two. Bits of 2/π whose product with it is a
//! multiple of 4 do not matter, so the next 96 are multiplied by M, modulo 2^96: that is the quadrant and 94 bits of the
//! rest, of which 62 are used (Payne and Hanek).

use crate::error::{Error, Result};
use crate::{Emit, V, lanes};
use inkwell::FloatPredicate as P;
use inkwell::IntPredicate;
use inkwell::values::InstructionOpcode as I;
use phalanx_polynomials::{COS, FRAC_2_PI_BITS, FRAC_PI_2_PARTS, SIN, TAN, TRIG_LIMIT};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

impl<'c> Emit<'c> {
    /// Sine.
    pub(super) fn sin(&mut self, x: V<'c>) -> Result<V<'c>> {
        let (rest, quadrant) = self.reduced(x)?;
        let y = self.sin_or_cos(rest, quadrant)?;
        self.flip_sign(y, self.sign_bit(x)?)
    }

    /// Cosine.
    pub(super) fn cos(&mut self, x: V<'c>) -> Result<V<'c>> {
        let (rest, quadrant) = self.reduced(x)?;
        self.sin_or_cos(rest, self.add(quadrant, self.int_like(quadrant, 1))?)
    }

    /// Tangent: of the rest, or in odd quadrants the negative reciprocal of that.
    pub(super) fn tan(&mut self, x: V<'c>) -> Result<V<'c>> {
        let (rest, quadrant) = self.reduced(x)?;
        let tan = self.odd(rest, |e, square| e.even_odd(square, &TAN))?;
        let other = self.fdiv(self.num(-1.0, x), tan)?;
        let value = self.select(self.is_even(quadrant)?, tan, other)?;
        self.flip_sign(value, self.sign_bit(x)?)
    }

    /// The sine, or with quadrants counted from one further on the cosine.
    fn sin_or_cos(&mut self, rest: V<'c>, quadrant: V<'c>) -> Result<V<'c>> {
        let square = self.fmul(rest, rest)?;
        let p = self.horner(square, &SIN)?;
        let sin = self.madd(p, self.fmul(square, rest)?, rest)?;
        let p = self.horner(square, &COS)?;
        let most = self.madd_num(square, self.num(-0.5, rest), 1.0)?;
        let cos = self.madd(p, self.fmul(square, square)?, most)?;
        let value = self.select(self.is_even(quadrant)?, sin, cos)?;
        let sign = self.and(quadrant, self.int_like(quadrant, 2))?;
        self.flip_sign(value, self.shl(sign, self.int_like(sign, 30))?)
    }

    fn is_even(&self, quadrant: V<'c>) -> Result<V<'c>> {
        self.equals(self.and(quadrant, self.int_like(quadrant, 1))?, 0)
    }

    /// |x| modulo π/2, within ±π/4, and the quadrants left out (`i32`).
    fn reduced(&mut self, x: V<'c>) -> Result<(V<'c>, V<'c>)> {
        let magnitude = self.magnitude(x)?;
        let wide = self.widened(magnitude)?;
        let (k, bits) = self.round_scaled(wide, FRAC_2_PI)?;
        let mut rest = wide;
        for part in FRAC_PI_2_PARTS {
            rest = self.madd(k, self.num(-part, wide), rest)?;
        }
        let (rest, quadrant) = (self.narrowed(rest)?, self.zext_trunc(bits, 32)?);
        let is_huge = self.fcmp(P::OGT, magnitude, self.num(TRIG_LIMIT, x))?;
        if lanes(x).is_some() {
            let (other_rest, other_quadrant) = self.reduced_huge(magnitude)?;
            let quadrant = self.select(is_huge, other_quadrant, quadrant)?;
            return Ok((self.select(is_huge, other_rest, rest)?, quadrant));
        }
        let before = self.here()?;
        let function = before.get_parent().ok_or_else(|| Error::bug("a block without a function"))?;
        let [huge, done] = ["huge", "reduced"].map(|name| self.new_block(function, name));
        let is_usual = self.not(is_huge)?;
        self.cond_br_likely(is_usual, done, huge)?;
        self.b.position_at_end(huge);
        let (other_rest, other_quadrant) = self.reduced_huge(magnitude)?;
        self.br(done)?;
        self.b.position_at_end(done);
        let rest = self.merge(&[(rest, before), (other_rest, huge)])?;
        Ok((rest, self.merge(&[(quadrant, before), (other_quadrant, huge)])?))
    }

    /// The same of a magnitude beyond the limit; of infinity, NaN.
    fn reduced_huge(&mut self, magnitude: V<'c>) -> Result<(V<'c>, V<'c>)> {
        let bits = self.bits_of(magnitude)?;
        let number = |x: u64| self.int_like(bits, x);
        let fraction = self.and(bits, number(0x7f_ffff))?;
        let mantissa = self.zext_trunc(self.or(fraction, number(0x80_0000))?, 64)?;
        // The argument is the mantissa times 2^(exponent - 150); with 2/π, bits before exponent - 152 are multiples of 4.
        let exponent = self.lshr(bits, number(23))?;
        let first = self.sub(exponent, number(152))?;
        let (word, shift) = (self.lshr(first, number(5))?, self.and(first, number(31))?);
        let mut words = Vec::new();
        for j in 0..4 {
            let mut found = number(FRAC_2_PI_BITS[j + 3].into());
            for k in 0..3 {
                let is_it = self.equals(word, k as u64)?;
                found = self.select(is_it, number(FRAC_2_PI_BITS[j + k].into()), found)?;
            }
            words.push(found);
        }
        let mut products = Vec::new();
        for pair in words.windows(2) {
            let part = self.intrinsic("llvm.fshl", &[bits.get_type()], &[pair[0], pair[1], shift])?;
            products.push(self.mul(self.zext_trunc(part, 64)?, mantissa)?);
        }
        let half = self.int_like(mantissa, 32);
        let sum = self.add(self.shl(products[0], half)?, products[1])?;
        let turns = self.add(sum, self.lshr(products[2], half)?)?;
        // Two bits of quadrant, then the rest as a fraction of one: from its half on it is that to the next quadrant.
        let fraction = self.shl(turns, self.int_like(turns, 2))?;
        let next = self.lshr(fraction, self.int_like(turns, 63))?;
        let quadrant = self.add(self.lshr(turns, self.int_like(turns, 62))?, next)?;
        let fraction = self.cast(I::SIToFP, fraction, self.cx.f64_type())?;
        let rest = self.fmul(fraction, self.num(FRAC_PI_2 / 2.0_f64.powi(64), fraction))?;
        let is_infinite = self.icmp(IntPredicate::EQ, bits, self.int_like(bits, 0x7f80_0000))?;
        let rest = self.select(is_infinite, self.num(f32::NAN, magnitude), self.narrowed(rest)?)?;
        Ok((rest, self.zext_trunc(quadrant, 32)?))
    }
}
