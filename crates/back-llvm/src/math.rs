//! Transcendental functions: calls into the table of element-wise functions.
//!
//! The functions work on arrays of `f32` in memory, so a vector is spilled, and a scalar is given
//! room as for a short vector. 2^x and e^x are so short that the call would cost more than the function: they
//! are computed in place.

use crate::emit::{V, lanes};
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::prologue::Field;
use inkwell::FloatPredicate;
use inkwell::values::InstructionOpcode;
use phalanx_ir::{BinaryOp, Scalar, UnaryOp};
use phalanx_kernels::math::{
    EXP_COEFFICIENTS, EXP_LIMITS, EXP2_COEFFICIENTS, EXP2_LIMITS, LN2_PARTS, MathFn,
};

/// 1.5 · 2^23: in the sum with it the integer nearest to a number is in the low bits.
const ROUND: f64 = 12_582_912.0;

/// The function of the table that an operation is, if no instructions are it.
fn unary_of_table(op: UnaryOp) -> Option<MathFn> {
    use UnaryOp as U;
    Some(match op {
        U::Sin => MathFn::Sin,
        U::Cos => MathFn::Cos,
        U::Tan => MathFn::Tan,
        U::Asin => MathFn::Asin,
        U::Acos => MathFn::Acos,
        U::Atan => MathFn::Atan,
        U::Sinh => MathFn::Sinh,
        U::Cosh => MathFn::Cosh,
        U::Tanh => MathFn::Tanh,
        U::Asinh => MathFn::Asinh,
        U::Acosh => MathFn::Acosh,
        U::Atanh => MathFn::Atanh,
        U::Exp => MathFn::Exp,
        U::Exp2 => MathFn::Exp2,
        U::Log => MathFn::Log,
        U::Log2 => MathFn::Log2,
        _ => return None,
    })
}

impl<'c> Lower<'_, 'c> {
    /// An operation on elements of type `s`. `exact` forbids fusing it with others.
    pub(crate) fn unary(&mut self, op: UnaryOp, s: Scalar, x: V<'c>, exact: bool) -> Result<V<'c>> {
        let y = match unary_of_table(op) {
            None => return self.e.unary(op, s, x, exact),
            Some(MathFn::Exp) => self.exp(s, x)?,
            Some(MathFn::Exp2) => self.exp2(s, x)?,
            Some(f) => self.math1(f, s, x)?,
        };
        if exact { Ok(y) } else { self.e.contract(y) }
    }

    /// An operation on elements of type `s`. `exact` forbids fusing it with others.
    pub(crate) fn binary(
        &mut self,
        op: BinaryOp,
        s: Scalar,
        x: V<'c>,
        y: V<'c>,
        exact: bool,
    ) -> Result<V<'c>> {
        match op {
            BinaryOp::Frem => self.float_rem(s, x, y),
            BinaryOp::Pow => self.math2(MathFn::Pow, s, x, y),
            BinaryOp::Atan2 => self.math2(MathFn::Atan2, s, x, y),
            op => self.e.binary(op, s, x, y, exact),
        }
    }

    /// `x * y + z` with one rounding.
    pub(crate) fn fma(&mut self, s: Scalar, x: V<'c>, y: V<'c>, z: V<'c>) -> Result<V<'c>> {
        match s {
            Scalar::F64 if !self.e.caps.fma => self.call_f64(MathFn::Fma, &[x, y, z]),
            s => self.e.fma(s, x, y, z),
        }
    }

    /// The remainder is exact, so that it does not matter in which type it is computed.
    fn float_rem(&mut self, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        match s {
            Scalar::F64 => self.call_f64(MathFn::Frem64, &[x, y]),
            _ => self.math2(MathFn::Frem, s, x, y),
        }
    }

    /// A function of one argument of type `s`.
    fn math1(&mut self, f: MathFn, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.math(f, s, &[x])
    }

    /// A function of two arguments of type `s`.
    fn math2(&mut self, f: MathFn, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        self.math(f, s, &[x, y])
    }

    fn math(&mut self, f: MathFn, s: Scalar, xs: &[V<'c>]) -> Result<V<'c>> {
        if s == Scalar::F64 {
            return Err(Error::unsupported(format!("{} of 64-bit floats", f.name())));
        }
        let xs = xs.iter().map(|&x| self.e.as_f32(s, x)).collect::<Result<Vec<_>>>()?;
        let y = self.call_math(f, &xs)?;
        self.e.round_f32(s, y)
    }

    /// A function of the table whose arguments are `f64`.
    fn call_f64(&mut self, f: MathFn, xs: &[V<'c>]) -> Result<V<'c>> {
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
    fn exp2(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        if s == Scalar::F64 || !self.e.caps.fma {
            return self.math1(MathFn::Exp2, s, x);
        }
        let x = self.e.as_f32(s, x)?;
        let x = self.clamped(x, EXP2_LIMITS)?;
        let large = self.e.float_like(Scalar::F32, ROUND, x);
        let sum = self.e.bin(InstructionOpcode::FAdd, x, large)?;
        let power = self.e.bin(InstructionOpcode::FSub, sum, large)?;
        let rest = self.e.bin(InstructionOpcode::FSub, x, power)?;
        let square = self.e.bin(InstructionOpcode::FMul, rest, rest)?;
        let p = self.polynomial(rest, square, &EXP2_COEFFICIENTS)?;
        let p = self.fma(Scalar::F32, p, rest, self.e.float_like(Scalar::F32, 1.0, x))?;
        let y = self.scale_by_power(p, power, sum)?;
        self.e.round_f32(s, y)
    }

    /// e^x, step by step as the function of the table does it.
    fn exp(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        if s == Scalar::F64 || !self.e.caps.fma {
            return self.math1(MathFn::Exp, s, x);
        }
        let x = self.e.as_f32(s, x)?;
        let x = self.clamped(x, EXP_LIMITS)?;
        let large = self.e.float_like(Scalar::F32, ROUND, x);
        let per_power = self.e.float_like(Scalar::F32, std::f32::consts::LOG2_E.into(), x);
        let sum = self.fma(Scalar::F32, x, per_power, large)?;
        let power = self.e.bin(InstructionOpcode::FSub, sum, large)?;
        let mut rest = x;
        for part in LN2_PARTS {
            rest = self.fma(Scalar::F32, power, self.e.float_like(Scalar::F32, (-part).into(), x), rest)?;
        }
        let square = self.e.bin(InstructionOpcode::FMul, rest, rest)?;
        let p = self.polynomial(rest, square, &EXP_COEFFICIENTS)?;
        let p = self.fma(Scalar::F32, p, square, rest)?;
        let p = self.e.bin(InstructionOpcode::FAdd, p, self.e.float_like(Scalar::F32, 1.0, x))?;
        let y = self.scale_by_power(p, power, sum)?;
        self.e.round_f32(s, y)
    }

    /// `x` within limits; a NaN stays one.
    fn clamped(&mut self, mut x: V<'c>, [low, high]: [f32; 2]) -> Result<V<'c>> {
        for (predicate, limit) in [(FloatPredicate::OGT, high), (FloatPredicate::OLT, low)] {
            let limit = self.e.float_like(Scalar::F32, limit.into(), x);
            let is_beyond = self.e.fcmp(predicate, x, limit)?;
            x = self.e.select(is_beyond, limit, x)?;
        }
        Ok(x)
    }

    /// The polynomial with these coefficients, lowest power first; even and odd powers apart.
    fn polynomial(&mut self, x: V<'c>, square: V<'c>, coefficients: &[f32]) -> Result<V<'c>> {
        let mut halves = [None; 2];
        for (i, &c) in coefficients.iter().enumerate().rev() {
            let c = self.e.float_like(Scalar::F32, c.into(), x);
            halves[i % 2] = Some(match halves[i % 2] {
                Some(above) => self.fma(Scalar::F32, above, square, c)?,
                None => c,
            });
        }
        match halves {
            [Some(even), Some(odd)] => self.fma(Scalar::F32, odd, x, even),
            _ => Err(Error::bug("a polynomial of degree 0")),
        }
    }

    /// `p` times 2 to a power, which is an integer and is in the low bits of `sum`, too.
    fn scale_by_power(&mut self, p: V<'c>, power: V<'c>, sum: V<'c>) -> Result<V<'c>> {
        match lanes(p) {
            Some(n) if self.e.caps.mask_registers && n >= 4 => {
                let register = (self.e.caps.register_bytes / 4).min(n);
                let part = |l: &Self, v: V<'c>, k: u32| l.e.permute(v, k * register..(k + 1) * register);
                let mut parts = Vec::new();
                for k in 0..n / register {
                    let (p, power) = (part(self, p, k)?, part(self, power, k)?);
                    parts.push(self.scale_register(p, power)?);
                }
                self.e.concat(parts)
            }
            _ => self.scale_in_steps(p, sum),
        }
    }

    /// `p` times 2 to a power by the instruction for it, on vectors of one register.
    fn scale_register(&mut self, p: V<'c>, power: V<'c>) -> Result<V<'c>> {
        let all = |l: &Self, bits| l.e.int_ty(bits).const_all_ones().into();
        let (name, all) = match lanes(p) {
            Some(16) => ("llvm.x86.avx512.mask.scalef.ps.512", all(self, 16)),
            Some(8) => ("llvm.x86.avx512.mask.scalef.ps.256", all(self, 8)),
            _ => ("llvm.x86.avx512.mask.scalef.ps.128", all(self, 8)),
        };
        let mut args = vec![p, power, p, all];
        if lanes(p) == Some(16) {
            // Rounded as everything else is.
            args.push(self.e.i32(4));
        }
        self.e.intrinsic(name, &[], &args)
    }

    /// `p` times 2 to the power in the low bits of `sum`, in two steps: the power itself may be no `f32`.
    fn scale_in_steps(&mut self, p: V<'c>, sum: V<'c>) -> Result<V<'c>> {
        let int = self.e.ty_like(self.e.cx.i32_type(), p);
        let sum = self.e.bitcast(sum, int)?;
        let power = self.e.sub(sum, self.e.int_like(sum, (ROUND as f32).to_bits().into()))?;
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
