//! Transcendental functions: calls into the table of element-wise functions.
//!
//! The functions work on arrays of `f32` in memory, so a vector is spilled, and a scalar is given
//! room as for a short vector. 2^x is so short that the call would cost as much as the function: it
//! is computed in place.

use crate::emit::{V, lanes};
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::prologue::Field;
use inkwell::FloatPredicate;
use inkwell::values::InstructionOpcode;
use phalanx_ir::Scalar;
use phalanx_kernels::math::{EXP2_COEFFICIENTS, EXP2_LIMITS, MathFn};

impl<'c> Lower<'_, 'c> {
    /// A function of one argument of type `s`.
    pub(crate) fn math1(&mut self, f: MathFn, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.math(f, s, &[x])
    }

    /// A function of two arguments of type `s`.
    pub(crate) fn math2(&mut self, f: MathFn, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.math(f, s, &[x, y])
    }

    fn math(&mut self, f: MathFn, s: Scalar, xs: &[V<'c>]) -> Result<V<'c>> {
        if s == Scalar::F64 {
            return Err(Error::unsupported(format!("{} of 64-bit floats", f.name())));
        }
        let xs = xs.iter().map(|&x| self.as_f32(s, x)).collect::<Result<Vec<_>>>()?;
        let y = self.call_math(f, &xs)?;
        self.round_f32(s, y)
    }

    /// A function of the table whose arguments are `f64`.
    pub(crate) fn call_f64(&mut self, f: MathFn, xs: &[V<'c>]) -> Result<V<'c>> {
        debug_assert!(f.is_of_f64());
        self.call_math(f, xs)
    }

    /// Calls a function of the table on arguments of its type.
    fn call_math(&mut self, f: MathFn, xs: &[V<'c>]) -> Result<V<'c>> {
        let ty = xs[0].get_type();
        let mut args = vec![self.e.i64(lanes(xs[0]).unwrap_or(1).into())];
        for (i, &x) in (0..).zip(xs) {
            let slot = self.spill_slot(ty, i)?;
            self.e.b.build_store(slot, x)?;
            args.push(slot.into());
        }
        // A result may replace the first argument.
        let out = args[1];
        args.push(out);
        self.call_table(Field::Math, f as usize, &args, None)?;
        Ok(self.e.b.build_load(ty, out.into_pointer_value(), "")?)
    }

    /// 2^x, step by step as the function of the table does it.
    pub(crate) fn exp2(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        if s == Scalar::F64 || !self.e.caps.fma {
            return self.math1(MathFn::Exp2, s, x);
        }
        let mut x = self.as_f32(s, x)?;
        let c = |l: &Self, n: f32| l.e.const_like(l.e.float_const(Scalar::F32, n.into()), x);
        let [low, high] = EXP2_LIMITS.map(|n| c(self, n));
        // 1.5 * 2^23: in the sum the integer nearest to x is in the low bits.
        let large = c(self, 12_582_912.0);
        let (one, coefficients) = (c(self, 1.0), EXP2_COEFFICIENTS.map(|n| c(self, n)));
        for (predicate, limit) in [(FloatPredicate::OGT, high), (FloatPredicate::OLT, low)] {
            let is_beyond = self.e.fcmp(predicate, x, limit)?;
            x = self.e.select(is_beyond, limit, x)?;
        }
        let sum = self.e.bin(InstructionOpcode::FAdd, x, large)?;
        let nearest = self.e.bin(InstructionOpcode::FSub, sum, large)?;
        let rest = self.e.bin(InstructionOpcode::FSub, x, nearest)?;
        let square = self.e.bin(InstructionOpcode::FMul, rest, rest)?;
        // Even and odd powers apart.
        let [c0, c1, c2, c3, c4, c5] = coefficients;
        let mut halves = [c4, c5];
        for (half, below) in halves.iter_mut().zip([[c2, c0], [c3, c1]]) {
            for c in below {
                *half = self.fma(Scalar::F32, *half, square, c)?;
            }
        }
        let p = self.fma(Scalar::F32, halves[1], rest, halves[0])?;
        let p = self.fma(Scalar::F32, p, rest, one)?;
        let y = self.scale_by_power(p, sum, large)?;
        self.round_f32(s, y)
    }

    /// `p` times 2 to the power in the low bits of `sum`, in two steps: the power itself may be no `f32`.
    fn scale_by_power(&mut self, p: V<'c>, sum: V<'c>, large: V<'c>) -> Result<V<'c>> {
        let int = self.e.ty_like(self.e.cx.i32_type(), p);
        let (sum, large) = (self.e.bitcast(sum, int)?, self.e.bitcast(large, int)?);
        let power = self.e.sub(sum, large)?;
        let half = self.e.ashr(power, self.e.int_like(power, 1))?;
        let rest = self.e.sub(power, half)?;
        let mut y = p;
        for power in [half, rest] {
            let exponent = self.e.add(power, self.e.int_like(power, 127))?;
            let factor = self.e.shl(exponent, self.e.int_like(exponent, 23))?;
            let factor = self.e.bitcast(factor, p.get_type())?;
            y = self.e.bin(InstructionOpcode::FMul, y, factor)?;
        }
        Ok(y)
    }
}
