//! `exp`, `exp2` and the hyperbolic functions that are made of them.

use crate::error::Result;
use crate::{Emit, V, lanes};
use inkwell::FloatPredicate as P;
use phalanx_polynomials::{EXP, EXP_LIMITS, EXP2, EXP2_LIMITS, LN2_PARTS, SINH, TANH};

/// What the exponent of the `f32` 1 is.
const ONE: u32 = 127;

/// A power of two by which VSCALEFPS makes zero of any number as fast as anything else. From 2^-127 to 2^-500, at least, a Xeon
/// (Sapphire Rapids) takes 70 ns instead of half of one.
const FAR_BELOW: f32 = -2000.0;

/// A number times a power of two.
#[derive(Clone, Copy, Debug)]
struct Scaled<'c> {
    number: V<'c>,
    /// The power, a float that is an integer.
    power: V<'c>,
    /// The same in the low nine bits of an integer, and twice [`ONE`] more.
    bits: V<'c>,
}

impl<'c> Emit<'c> {
    /// e^x.
    pub(super) fn exp(&mut self, x: V<'c>) -> Result<V<'c>> {
        self.by_few_registers(x, |e, x| {
            let (x, is_zero) = e.limited(x, EXP_LIMITS)?;
            let y = e.exp_parts(x)?;
            e.scaled_or_zero(y, is_zero)
        })
    }

    /// 2^x.
    pub(super) fn exp2(&mut self, x: V<'c>) -> Result<V<'c>> {
        self.by_few_registers(x, |e, x| {
            let (x, is_zero) = e.limited(x, EXP2_LIMITS)?;
            let (power, bits) = e.round_biased(x, 1.0_f32, 2 * ONE)?;
            let rest = e.fsub(x, power)?;
            let p = e.even_odd(rest, &EXP2)?;
            let number = e.madd_num(p, rest, 1.0_f32)?;
            e.scaled_or_zero(Scaled { number, power, bits }, is_zero)
        })
    }

    /// e^x for |x| up to 2^13.
    fn exp_parts(&mut self, x: V<'c>) -> Result<Scaled<'c>> {
        let (power, bits) = self.round_biased(x, std::f32::consts::LOG2_E, 2 * ONE)?;
        let mut rest = x;
        for part in LN2_PARTS {
            rest = self.madd(power, self.num(-part, x), rest)?;
        }
        let square = self.fmul(rest, rest)?;
        let p = self.even_odd_of(rest, square, &EXP)?;
        let p = self.madd(p, square, rest)?;
        let number = self.fadd(p, self.num(1.0_f32, x))?;
        Ok(Scaled { number, power, bits })
    }

    /// (e^x − e^−x) / 2.
    pub(super) fn sinh(&mut self, x: V<'c>) -> Result<V<'c>> {
        let magnitude = self.magnitude(x)?;
        let near = self.odd(magnitude, |e, square| e.horner(square, &SINH))?;
        let half = self.half_exp(magnitude)?;
        let far = self.fsub(half, self.fdiv(self.num(0.25, x), half)?)?;
        let y = self.choose(magnitude, P::OLT, self.num(1.0, x), near, far)?;
        self.flip_sign(y, self.sign_bit(x)?)
    }

    /// (e^x + e^−x) / 2.
    pub(super) fn cosh(&mut self, x: V<'c>) -> Result<V<'c>> {
        let magnitude = self.magnitude(x)?;
        let half = self.half_exp(magnitude)?;
        self.fadd(half, self.fdiv(self.num(0.25, x), half)?)
    }

    /// e^x / 2 for a non-negative x, without overflow where e^x alone would.
    fn half_exp(&mut self, x: V<'c>) -> Result<V<'c>> {
        let x = self.clamped(x, [0.0_f32, 90.0])?;
        let mut y = self.exp_parts(x)?;
        y.power = self.fsub(y.power, self.num(1.0, x))?;
        y.bits = self.sub(y.bits, self.int_like(y.bits, 1))?;
        self.scaled(y)
    }

    /// 1 − 2 / (e^2x + 1).
    pub(super) fn tanh(&mut self, x: V<'c>) -> Result<V<'c>> {
        let magnitude = self.magnitude(x)?;
        // From 9.02 on the result rounds to one.
        let magnitude = self.clamped(magnitude, [0.0_f32, 10.0])?;
        let near = self.odd(magnitude, |e, square| e.even_odd(square, &TANH))?;
        let y = self.exp_parts(self.fadd(magnitude, magnitude)?)?;
        let biased = self.sub(y.bits, self.int_like(y.bits, ONE.into()))?;
        let power = self.float_of(self.exponent_field(biased)?)?;
        let sum = self.madd_num(y.number, power, 1.0)?;
        let far = self.fsub(self.num(1.0, x), self.fdiv(self.num(2.0, x), sum)?)?;
        let y = self.choose(magnitude, P::OLT, self.num(0.625, x), near, far)?;
        self.flip_sign(y, self.sign_bit(x)?)
    }

    /// `x + p(x²) x³`.
    pub(super) fn odd(
        &mut self,
        x: V<'c>,
        p: impl FnOnce(&mut Self, V<'c>) -> Result<V<'c>>,
    ) -> Result<V<'c>> {
        let square = self.fmul(x, x)?;
        let p = p(self, square)?;
        self.madd(p, self.fmul(square, x)?, x)
    }

    /// The exponent of an `f32` from the low bits of an integer.
    fn exponent_field(&self, bits: V<'c>) -> Result<V<'c>> {
        self.shl(bits, self.int_like(bits, 23))
    }

    /// The same of what is zero where it says so, and is so small there that it would be anyway.
    fn scaled_or_zero(&mut self, mut x: Scaled<'c>, is_zero: V<'c>) -> Result<V<'c>> {
        if self.lanes_to_scale(x.number).is_some() {
            x.power = self.select(is_zero, self.num(FAR_BELOW, x.power), x.power)?;
        }
        self.scaled(x)
    }

    /// The lanes of a vector that an instruction of x86 scales.
    fn lanes_to_scale(&self, number: V<'c>) -> Option<u32> {
        lanes(number).filter(|&n| self.caps.is_x86 && self.caps.mask_registers && n >= 4)
    }

    /// Right also where the result is a denormal or the power alone overflows.
    fn scaled(&mut self, x: Scaled<'c>) -> Result<V<'c>> {
        match self.lanes_to_scale(x.number) {
            Some(n) => {
                let register = (self.caps.register_bytes / 4).min(n);
                let part = |l: &Self, v: V<'c>, k: u32| l.permute(v, k * register..(k + 1) * register);
                let mut parts = Vec::new();
                for k in 0..n / register {
                    let (number, power) = (part(self, x.number, k)?, part(self, x.power, k)?);
                    parts.push(self.scale_register(number, power)?);
                }
                self.concat(parts)
            }
            None => self.scale_in_steps(x.number, x.bits),
        }
    }

    /// By the instruction of x86 for it, on vectors of one register.
    fn scale_register(&mut self, number: V<'c>, power: V<'c>) -> Result<V<'c>> {
        let all = |l: &Self, bits| l.int_ty(bits).const_all_ones().into();
        let (name, all) = match lanes(number) {
            Some(16) => ("llvm.x86.avx512.mask.scalef.ps.512", all(self, 16)),
            Some(8) => ("llvm.x86.avx512.mask.scalef.ps.256", all(self, 8)),
            _ => ("llvm.x86.avx512.mask.scalef.ps.128", all(self, 8)),
        };
        let mut args = vec![number, power, number, all];
        if lanes(number) == Some(16) {
            // Rounded as everything else is.
            args.push(self.i32(4));
        }
        self.intrinsic(name, &[], &args)
    }

    /// In two steps: the power itself may be no `f32`, but that of its halves are, and what [`Scaled::bits`] has more is what
    /// both their exponents have. The first product is exact.
    fn scale_in_steps(&mut self, number: V<'c>, bits: V<'c>) -> Result<V<'c>> {
        let half = self.exponent_field(self.lshr(bits, self.int_like(bits, 1))?)?;
        let rest = self.sub(self.exponent_field(bits)?, half)?;
        let mut y = number;
        for power in [half, rest] {
            y = self.fmul(y, self.float_of(power)?)?;
        }
        Ok(y)
    }
}
