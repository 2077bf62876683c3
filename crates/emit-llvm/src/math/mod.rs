//! Transcendental functions, in place.
//!
//! They are the algorithms of `kernels::math`, step by step and with the same numbers, so they have the same errors.
//! The narrower types are computed in `f32` and rounded. Nothing branches but what a vector could not follow:
//! arguments of `sin` and its like that are huge, and the remainder, which is a loop.

mod arc;
mod exp;
mod log;
mod pow;
mod rem;
mod trig;

use crate::error::{Error, Result};
use crate::{Emit, V, elem_ty, lanes};
use inkwell::values::InstructionOpcode as I;
use inkwell::{FloatPredicate, IntPredicate};
use phalanx_ir::{BinaryOp, Scalar, UnaryOp};
use phalanx_polynomials::{ROUND_F32, ROUND_F64};

/// Functions.
impl<'c> Emit<'c> {
    /// A transcendental function of elements of type `s`.
    pub(crate) fn math_unary(&mut self, op: UnaryOp, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        if s == Scalar::F64 {
            return Err(Error::unsupported(format!("{op:?} of {s}")));
        }
        let x = self.as_f32(s, x)?;
        let y = match op {
            UnaryOp::Sin => self.sin(x)?,
            UnaryOp::Cos => self.cos(x)?,
            UnaryOp::Tan => self.tan(x)?,
            UnaryOp::Asin => self.asin(x)?,
            UnaryOp::Acos => self.acos(x)?,
            UnaryOp::Atan => self.atan(x)?,
            UnaryOp::Sinh => self.sinh(x)?,
            UnaryOp::Cosh => self.cosh(x)?,
            UnaryOp::Tanh => self.tanh(x)?,
            UnaryOp::Asinh => self.asinh(x)?,
            UnaryOp::Acosh => self.acosh(x)?,
            UnaryOp::Atanh => self.atanh(x)?,
            UnaryOp::Exp => self.exp(x)?,
            UnaryOp::Exp2 => self.exp2(x)?,
            UnaryOp::Log => self.log(x)?,
            UnaryOp::Log2 => self.log2(x)?,
            _ => return Err(Error::bug(format!("{op:?} is no such function"))),
        };
        self.round_f32(s, y)
    }

    /// A power, an angle or an exact remainder of elements of type `s`.
    pub(crate) fn math_binary(&mut self, op: BinaryOp, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        if op == BinaryOp::Frem {
            return self.float_remainder(s, x, y);
        }
        if s == Scalar::F64 {
            return Err(Error::unsupported(format!("{op:?} of {s}")));
        }
        let (x, y) = (self.as_f32(s, x)?, self.as_f32(s, y)?);
        let z = match op {
            BinaryOp::Pow => self.pow(x, y)?,
            BinaryOp::Atan2 => self.atan2(x, y)?,
            _ => return Err(Error::bug(format!("{op:?} is no such function"))),
        };
        self.round_f32(s, z)
    }
}

/// What they are made of.
impl<'c> Emit<'c> {
    /// A constant of the type of `like`.
    fn num(&self, x: impl Into<f64>, like: V<'c>) -> V<'c> {
        let s = if elem_ty(like) == self.cx.f64_type().into() { Scalar::F64 } else { Scalar::F32 };
        self.float_like(s, x.into(), like)
    }

    fn fadd(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(I::FAdd, x, y)
    }

    fn fsub(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(I::FSub, x, y)
    }

    fn fmul(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(I::FMul, x, y)
    }

    fn fdiv(&self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.bin(I::FDiv, x, y)
    }

    /// A function of `f32`, two registers after the other where there are 16: LLVM does each step to the whole of a long vector,
    /// and moves what no register is left for to the stack and back between two steps.
    fn by_few_registers(&mut self, x: V<'c>, f: impl Fn(&mut Self, V<'c>) -> Result<V<'c>>) -> Result<V<'c>> {
        let length = 2 * self.caps.register_bytes / 4;
        let (n, has_few) = (lanes(x).unwrap_or(1), self.caps.is_x86 && self.caps.register_bytes < 64);
        let count = n / length;
        if !has_few || count < 2 || !n.is_multiple_of(length) || !count.is_power_of_two() {
            return f(self, x);
        }
        let parts = (0..count).map(|k| {
            let part = self.permute(x, k * length..(k + 1) * length)?;
            f(self, part)
        });
        let parts = parts.collect::<Result<_>>()?;
        self.concat(parts)
    }

    fn magnitude(&mut self, x: V<'c>) -> Result<V<'c>> {
        self.map1("llvm.fabs", x)
    }

    fn widened(&self, x: V<'c>) -> Result<V<'c>> {
        self.cast(I::FPExt, x, self.cx.f64_type())
    }

    fn narrowed(&self, x: V<'c>) -> Result<V<'c>> {
        self.cast(I::FPTrunc, x, self.cx.f32_type())
    }

    /// `a * b + c`, with one rounding where there is an instruction for it.
    fn madd(&mut self, a: V<'c>, b: V<'c>, c: V<'c>) -> Result<V<'c>> {
        if self.caps.fma {
            return self.intrinsic("llvm.fma", &[a.get_type()], &[a, b, c]);
        }
        self.fadd(self.fmul(a, b)?, c)
    }

    /// `a * b + c` with a constant for `c`.
    fn madd_num(&mut self, a: V<'c>, b: V<'c>, c: impl Into<f64>) -> Result<V<'c>> {
        self.madd(a, b, self.num(c, a))
    }

    /// The polynomial with these coefficients, lowest power first, by Horner's rule.
    fn horner(&mut self, x: V<'c>, coefficients: &[f32]) -> Result<V<'c>> {
        let mut rest = coefficients.iter().rev();
        let top = rest.next().copied().unwrap_or(0.0);
        let mut sum = self.num(top, x);
        for &c in rest {
            sum = self.madd_num(sum, x, c)?;
        }
        Ok(sum)
    }

    /// The same polynomial, even and odd powers apart: half the chain.
    fn even_odd(&mut self, x: V<'c>, coefficients: &[impl Copy + Into<f64>]) -> Result<V<'c>> {
        let square = self.fmul(x, x)?;
        self.even_odd_of(x, square, coefficients)
    }

    /// The same where the square is there already.
    fn even_odd_of(
        &mut self,
        x: V<'c>,
        square: V<'c>,
        coefficients: &[impl Copy + Into<f64>],
    ) -> Result<V<'c>> {
        let mut halves = [None; 2];
        for (i, &c) in coefficients.iter().enumerate().rev() {
            halves[i % 2] = Some(match halves[i % 2] {
                Some(above) => self.madd_num(above, square, c)?,
                None => self.num(c, x),
            });
        }
        match halves {
            [Some(even), Some(odd)] => self.madd(odd, x, even),
            _ => Err(Error::bug("a polynomial of degree 0")),
        }
    }

    /// `then` where a comparison holds.
    fn choose(&self, x: V<'c>, p: FloatPredicate, y: V<'c>, then: V<'c>, otherwise: V<'c>) -> Result<V<'c>> {
        self.select(self.fcmp(p, x, y)?, then, otherwise)
    }

    /// Whether an integer is a number.
    fn equals(&self, x: V<'c>, number: u64) -> Result<V<'c>> {
        self.icmp(IntPredicate::EQ, x, self.int_like(x, number))
    }

    /// `x` within limits; a NaN stays one.
    fn clamped(&self, x: V<'c>, limits: [impl Into<f64>; 2]) -> Result<V<'c>> {
        Ok(self.limited(x, limits)?.0)
    }

    /// The same, and whether it was below them.
    fn limited(&self, x: V<'c>, [low, high]: [impl Into<f64>; 2]) -> Result<(V<'c>, V<'c>)> {
        let (low, high) = (self.num(low, x), self.num(high, x));
        let x = self.choose(x, FloatPredicate::OGT, high, high, x)?;
        let is_below = self.fcmp(FloatPredicate::OLT, x, low)?;
        Ok((self.select(is_below, low, x)?, is_below))
    }

    /// The bits of a float.
    fn bits_of(&self, x: V<'c>) -> Result<V<'c>> {
        let bits = if elem_ty(x) == self.cx.f64_type().into() { 64 } else { 32 };
        self.bitcast(x, self.ty_like(self.int_ty(bits), x))
    }

    /// The `f32` or `f64` with these bits.
    fn float_of(&self, x: V<'c>) -> Result<V<'c>> {
        let ty = if crate::int_bits(x) == 64 { self.cx.f64_type() } else { self.cx.f32_type() };
        self.bitcast(x, self.ty_like(ty, x))
    }

    /// The sign bit of an `f32`, alone.
    fn sign_bit(&self, x: V<'c>) -> Result<V<'c>> {
        let bits = self.bits_of(x)?;
        self.and(bits, self.int_like(bits, 1 << 31))
    }

    /// An `f32` with its sign bit flipped where `sign` has one.
    fn flip_sign(&self, x: V<'c>, sign: V<'c>) -> Result<V<'c>> {
        self.float_of(self.xor(self.bits_of(x)?, sign)?)
    }

    /// The integer nearest to `x * scale`, as a float and as the low bits of what is given second. Needs a product
    /// below 2^22 in magnitude, of `f64` 2^51.
    fn round_scaled(&mut self, x: V<'c>, scale: impl Into<f64>) -> Result<(V<'c>, V<'c>)> {
        self.round_biased(x, scale, 0)
    }

    /// The same, but the low bits are so much more.
    fn round_biased(&mut self, x: V<'c>, scale: impl Into<f64>, bias: u32) -> Result<(V<'c>, V<'c>)> {
        let is_wide = elem_ty(x) == self.cx.f64_type().into();
        let large = if is_wide { ROUND_F64 } else { ROUND_F32.into() } + f64::from(bias);
        let large = self.num(large, x);
        let scale: f64 = scale.into();
        let sum = if scale == 1.0 { self.fadd(x, large)? } else { self.madd(x, self.num(scale, x), large)? };
        Ok((self.fsub(sum, large)?, self.bits_of(sum)?))
    }
}
