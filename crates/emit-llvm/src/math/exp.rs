//! `exp`, `exp2` and the hyperbolic functions that are made of them.

use crate::error::Result;
use crate::{Emit, V, lanes};
use inkwell::FloatPredicate as P;
use phalanx_polynomials::{EXP, EXP_LIMITS, EXP2, EXP2_LIMITS, LN2_PARTS, ROUND_F32, SINH, TANH};

/// A number times a power of two.
#[derive(Clone, Copy, Debug)]
struct Scaled<'c> {
    number: V<'c>,
    /// The power, a float that is an integer.
    power: V<'c>,
    /// The same as an integer.
    exponent: V<'c>,
}

impl<'c> Emit<'c> {
    /// e^x.
    pub(super) fn exp(&mut self, x: V<'c>) -> Result<V<'c>> {
        let x = self.clamped(x, EXP_LIMITS)?;
        let y = self.exp_parts(x)?;
        self.scaled(y)
    }

    /// 2^x.
    pub(super) fn exp2(&mut self, x: V<'c>) -> Result<V<'c>> {
        let x = self.clamped(x, EXP2_LIMITS)?;
        let (power, bits) = self.round_scaled(x, 1.0_f32)?;
        let rest = self.fsub(x, power)?;
        let p = self.even_odd(rest, &EXP2)?;
        let number = self.madd_num(p, rest, 1.0_f32)?;
        let exponent = self.exponent(bits)?;
        self.scaled(Scaled { number, power, exponent })
    }

    /// e^x for |x| up to 2^13.
    fn exp_parts(&mut self, x: V<'c>) -> Result<Scaled<'c>> {
        let (power, bits) = self.round_scaled(x, std::f32::consts::LOG2_E)?;
        let mut rest = x;
        for part in LN2_PARTS {
            rest = self.madd(power, self.num(-part, x), rest)?;
        }
        let square = self.fmul(rest, rest)?;
        let p = self.even_odd_of(rest, square, &EXP)?;
        let p = self.madd(p, square, rest)?;
        let number = self.fadd(p, self.num(1.0_f32, x))?;
        Ok(Scaled { number, power, exponent: self.exponent(bits)? })
    }

    /// The integer in the sum with [`ROUND_F32`].
    fn exponent(&self, sum: V<'c>) -> Result<V<'c>> {
        self.sub(sum, self.int_like(sum, ROUND_F32.to_bits().into()))
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
        y.exponent = self.sub(y.exponent, self.int_like(y.exponent, 1))?;
        self.scaled(y)
    }

    /// 1 − 2 / (e^2x + 1).
    pub(super) fn tanh(&mut self, x: V<'c>) -> Result<V<'c>> {
        let magnitude = self.magnitude(x)?;
        // From 9.02 on the result rounds to one.
        let magnitude = self.clamped(magnitude, [0.0_f32, 10.0])?;
        let near = self.odd(magnitude, |e, square| e.even_odd(square, &TANH))?;
        let y = self.exp_parts(self.fadd(magnitude, magnitude)?)?;
        let power = self.power_of_two_f32(y.exponent)?;
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

    /// 2^k as an `f32`, for the exponent of a normal number.
    fn power_of_two_f32(&self, k: V<'c>) -> Result<V<'c>> {
        let biased = self.add(k, self.int_like(k, 127))?;
        self.float_of(self.shl(biased, self.int_like(k, 23))?)
    }

    /// Right also where the result is a denormal or the power alone overflows.
    fn scaled(&mut self, x: Scaled<'c>) -> Result<V<'c>> {
        match lanes(x.number) {
            Some(n) if self.caps.is_x86 && self.caps.mask_registers && n >= 4 => {
                let register = (self.caps.register_bytes / 4).min(n);
                let part = |l: &Self, v: V<'c>, k: u32| l.permute(v, k * register..(k + 1) * register);
                let mut parts = Vec::new();
                for k in 0..n / register {
                    let (number, power) = (part(self, x.number, k)?, part(self, x.power, k)?);
                    parts.push(self.scale_register(number, power)?);
                }
                self.concat(parts)
            }
            _ => self.scale_in_steps(x.number, x.exponent),
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

    /// In two steps: the power itself may be no `f32`. The first product is exact.
    fn scale_in_steps(&mut self, number: V<'c>, exponent: V<'c>) -> Result<V<'c>> {
        let half = self.ashr(exponent, self.int_like(exponent, 1))?;
        let rest = self.sub(exponent, half)?;
        let mut y = number;
        for power in [half, rest] {
            y = self.fmul(y, self.power_of_two_f32(power)?)?;
        }
        Ok(y)
    }
}
