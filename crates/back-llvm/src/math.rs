//! Transcendental functions: calls into the table of element-wise functions.
//!
//! The functions work on arrays of `f32` in memory, so a vector is spilled, and a scalar is given
//! room as for a short vector. 2^x and e^x are so short that the call would cost more than the function: they
//! are computed in place.

use crate::emit::{V, lanes};
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::prologue::Field;
use phalanx_ir::{BinaryOp, Scalar, UnaryOp};
use phalanx_kernels::math::MathFn;

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
            Some(MathFn::Exp | MathFn::Exp2) if self.e.caps.fma && s != Scalar::F64 => {
                return self.e.unary(op, s, x, exact);
            }
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
}

#[cfg(test)]
mod tests {
    use crate::testing::optimized;

    #[test]
    fn exponentials_that_vanish_are_no_denormals_on_the_way() {
        let module = "kernel \"main\"
workgroup_size 16 1 1
subgroup_size 16
binding buf0 = 0.0 storage writable
{
  %0: i32 = const 0
  %lane: i32 = local_invocation_id<x>
  %p: ptr<buffer> = buffer_ptr<buf0> %0
  %at: ptr<buffer> = ptr_add<scale=4> %p, %lane
  %x: f32 = load %at
  %y: f32 = OP %x
  store %at, %y
}
";
        for op in ["exp", "exp2"] {
            let code = optimized(&module.replace("OP", op), "skylake-avx512");
            // Scaled by 2^-2000 instead of a power for which the instruction needs a hundred times as long.
            assert!(code.contains("scalef.ps.512") && code.contains("float -2.000000e+03"), "{code}");
            let code = optimized(&module.replace("OP", op), "haswell");
            assert!(!code.contains("scalef") && !code.contains("float -2.000000e+03"), "{code}");
        }
    }
}
