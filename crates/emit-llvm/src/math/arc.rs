//! `asin`, `acos`, `atan` and `atan2`.

use crate::error::Result;
use crate::{Emit, V};
use inkwell::FloatPredicate as P;
use phalanx_polynomials::{ASIN, ATAN, FRAC_PI_2_LOW, PI_LOW};
use std::f32::consts::{FRAC_PI_2, PI};

impl<'c> Emit<'c> {
    /// The arc sine of a magnitude up to ½, and beyond that of √((1 − |x|)/2); whether the latter.
    fn asin_parts(&mut self, magnitude: V<'c>) -> Result<(V<'c>, V<'c>)> {
        let is_far = self.fcmp(P::OGT, magnitude, self.num(0.5, magnitude))?;
        let half = self.madd_num(magnitude, self.num(-0.5, magnitude), 0.5)?;
        let square = self.select(is_far, half, self.fmul(magnitude, magnitude)?)?;
        let root = self.map1("llvm.sqrt", half)?;
        let root = self.select(is_far, root, magnitude)?;
        let p = self.horner(square, &ASIN)?;
        Ok((self.madd(self.fmul(p, root)?, square, root)?, is_far))
    }

    /// `whole − arc`, where `whole` is an `f32` and what it lacks.
    fn turned(&self, arc: V<'c>, (whole, low): (f32, f32)) -> Result<V<'c>> {
        self.fsub(self.num(whole, arc), self.fsub(arc, self.num(low, arc))?)
    }

    /// Arc sine; NaN outside [-1, 1].
    pub(super) fn asin(&mut self, x: V<'c>) -> Result<V<'c>> {
        let magnitude = self.magnitude(x)?;
        let (arc, is_far) = self.asin_parts(magnitude)?;
        let far = self.turned(self.fadd(arc, arc)?, (FRAC_PI_2, FRAC_PI_2_LOW))?;
        let value = self.select(is_far, far, arc)?;
        self.flip_sign(value, self.sign_bit(x)?)
    }

    /// Arc cosine; NaN outside [-1, 1].
    pub(super) fn acos(&mut self, x: V<'c>) -> Result<V<'c>> {
        let magnitude = self.magnitude(x)?;
        let (arc, is_far) = self.asin_parts(magnitude)?;
        let twice = self.fadd(arc, arc)?;
        let beyond = self.turned(twice, (PI, PI_LOW))?;
        let beyond = self.choose(x, P::OLT, self.num(0.0, x), beyond, twice)?;
        let arc = self.flip_sign(arc, self.sign_bit(x)?)?;
        let near = self.turned(arc, (FRAC_PI_2, FRAC_PI_2_LOW))?;
        self.select(is_far, beyond, near)
    }

    /// Arc tangent.
    pub(super) fn atan(&mut self, x: V<'c>) -> Result<V<'c>> {
        let magnitude = self.magnitude(x)?;
        let one = self.num(1.0, x);
        let is_steep = self.fcmp(P::OGT, magnitude, one)?;
        let ratio = self.select(is_steep, self.fdiv(one, magnitude)?, magnitude)?;
        let arc = self.odd(ratio, |e, square| e.even_odd(square, &ATAN))?;
        let value = self.select(is_steep, self.turned(arc, (FRAC_PI_2, FRAC_PI_2_LOW))?, arc)?;
        self.flip_sign(value, self.sign_bit(x)?)
    }

    /// Arc tangent of y / x in the quadrant of (x, y), with C's answers for zeros and infinities.
    pub(super) fn atan2(&mut self, y: V<'c>, x: V<'c>) -> Result<V<'c>> {
        let (width, height) = (self.magnitude(x)?, self.magnitude(y)?);
        let is_steep = self.fcmp(P::OGT, height, width)?;
        let low = self.select(is_steep, width, height)?;
        let high = self.select(is_steep, height, width)?;
        // 0/0 and ∞/∞ stand for the axis and the diagonal.
        let zero = self.num(0.0, x);
        let ratio = self.choose(high, P::OEQ, zero, zero, self.fdiv(low, high)?)?;
        let is_diagonal = self.fcmp(P::OEQ, low, self.num(f32::INFINITY, x))?;
        let ratio = self.select(is_diagonal, self.num(1.0, x), ratio)?;
        let arc = self.odd(ratio, |e, square| e.even_odd(square, &ATAN))?;
        let arc = self.select(is_steep, self.turned(arc, (FRAC_PI_2, FRAC_PI_2_LOW))?, arc)?;
        let is_right = self.equals(self.sign_bit(x)?, 0)?;
        let arc = self.select(is_right, arc, self.turned(arc, (PI, PI_LOW))?)?;
        let arc = self.flip_sign(arc, self.sign_bit(y)?)?;
        // A comparison with a NaN is false above, so a NaN may have passed for a zero.
        self.choose(x, P::UNO, y, self.fadd(x, y)?, arc)
    }
}
