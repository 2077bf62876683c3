//! Integer and floating-point arithmetic, element by element, on scalars and vectors of any length.
//!
//! The meaning is that of `phalanx_ir::eval`. Where LLVM leaves a case undefined or the processor
//! traps (division by zero, overflow of a quotient), the operands are replaced first.
//!
//! `f16` is computed in `f32` and rounded after each operation, unless the processor computes it
//! itself: for one addition, multiplication, division or square root that rounds the same, because
//! `f32` has more than twice the precision.

mod dot;
mod float;
mod fused;
mod integer;
mod table;

use crate::emit::{V, lanes};
use crate::error::Result;
use crate::lower::Lower;
use inkwell::values::InstructionOpcode;
use inkwell::{FloatPredicate, IntPredicate};
use phalanx_ir::{BinaryOp, CompareOp, Scalar, UnaryOp};
use phalanx_kernels::math::MathFn;

impl<'c> Lower<'_, 'c> {
    /// An operation on elements of type `s`. `exact` forbids fusing it with others.
    pub(crate) fn unary(&mut self, op: UnaryOp, s: Scalar, x: V<'c>, exact: bool) -> Result<V<'c>> {
        use UnaryOp as U;
        match op {
            U::Ineg => self.e.sub(self.e.int_like(x, 0), x),
            U::Not => self.e.not(x),
            U::BitReverse => self.e.map1("llvm.bitreverse", x),
            U::BitCount => self.e.map1("llvm.ctpop", x),
            U::FindLsb => {
                let no = self.e.bool(false);
                let n = self.e.intrinsic("llvm.cttz", &[x.get_type()], &[x, no])?;
                let zero = self.e.icmp(IntPredicate::EQ, x, self.e.int_like(x, 0))?;
                self.e.select(zero, self.e.int_like(x, u64::MAX), n)
            }
            U::FindUMsb => self.highest_bit(x),
            U::FindSMsb => {
                let sign = self.e.ashr(x, self.e.int_like(x, u64::from(s.bits()) - 1))?;
                let differing = self.e.xor(x, sign)?;
                self.highest_bit(differing)
            }
            U::Sabs => {
                let no = self.e.bool(false);
                self.e.intrinsic("llvm.abs", &[x.get_type()], &[x, no])
            }
            U::Ssign => {
                let low = self.e.map2("llvm.smax", x, self.e.int_like(x, u64::MAX))?;
                self.e.map2("llvm.smin", low, self.e.int_like(x, 1))
            }
            U::Fneg => self.change_sign(s, x, true),
            U::Fabs => self.change_sign(s, x, false),
            U::IsNan => self.float_unary(s, x, false, |l, _, x| l.e.fcmp(FloatPredicate::UNO, x, x)),
            U::IsInf => self.float_unary(s, x, false, |l, s, x| {
                let magnitude = l.e.map1("llvm.fabs", x)?;
                let infinity = l.float_like(s, f64::INFINITY, x);
                l.e.fcmp(FloatPredicate::OEQ, magnitude, infinity)
            }),
            U::Fsign => self.float_unary(s, x, true, Self::float_sign),
            U::Floor => self.float_unary(s, x, true, |l, _, x| l.e.map1("llvm.floor", x)),
            U::Ceil => self.float_unary(s, x, true, |l, _, x| l.e.map1("llvm.ceil", x)),
            U::Trunc => self.float_unary(s, x, true, |l, _, x| l.e.map1("llvm.trunc", x)),
            U::RoundEven => self.float_unary(s, x, true, |l, _, x| l.e.map1("llvm.roundeven", x)),
            U::Fract => self.float_unary(s, x, true, |l, _, x| {
                let whole = l.e.map1("llvm.floor", x)?;
                l.e.bin(InstructionOpcode::FSub, x, whole)
            }),
            U::Sqrt => self.float_unary(s, x, true, |l, _, x| l.e.map1("llvm.sqrt", x)),
            U::InverseSqrt => self.float_unary(s, x, true, |l, s, x| {
                let root = l.e.map1("llvm.sqrt", x)?;
                let one = l.float_like(s, 1.0, x);
                l.e.bin(InstructionOpcode::FDiv, one, root)
            }),
            U::Sin => self.math1(MathFn::Sin, s, x),
            U::Cos => self.math1(MathFn::Cos, s, x),
            U::Tan => self.math1(MathFn::Tan, s, x),
            U::Asin => self.math1(MathFn::Asin, s, x),
            U::Acos => self.math1(MathFn::Acos, s, x),
            U::Atan => self.math1(MathFn::Atan, s, x),
            U::Sinh => self.math1(MathFn::Sinh, s, x),
            U::Cosh => self.math1(MathFn::Cosh, s, x),
            U::Tanh => self.math1(MathFn::Tanh, s, x),
            U::Asinh => self.math1(MathFn::Asinh, s, x),
            U::Acosh => self.math1(MathFn::Acosh, s, x),
            U::Atanh => self.math1(MathFn::Atanh, s, x),
            U::Exp => self.exp(s, x),
            U::Exp2 => self.exp2(s, x),
            U::Log => self.math1(MathFn::Log, s, x),
            U::Log2 => self.math1(MathFn::Log2, s, x),
        }
        .and_then(|v| if exact { Ok(v) } else { self.e.contract(v) })
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
        use BinaryOp as B;
        match op {
            B::Iadd => self.add_or_dot(x, y),
            B::Isub => self.e.sub(x, y),
            B::Imul => self.e.mul(x, y),
            B::Sdiv | B::Udiv | B::Srem | B::Umod | B::Smod => self.int_division(op, x, y),
            B::SmulHi => self.mul_high(x, y, InstructionOpcode::SExt),
            B::UmulHi => self.mul_high(x, y, InstructionOpcode::ZExt),
            B::Sdot4 => self.dot_bytes((true, true), x, y),
            B::Udot4 => self.dot_bytes((false, false), x, y),
            B::Sudot4 => self.dot_bytes((true, false), x, y),
            B::Smin => self.e.map2("llvm.smin", x, y),
            B::Smax => self.e.map2("llvm.smax", x, y),
            B::Umin => self.e.map2("llvm.umin", x, y),
            B::Umax => self.e.map2("llvm.umax", x, y),
            B::And => self.e.and(x, y),
            B::Or => self.e.or(x, y),
            B::Xor => self.e.xor(x, y),
            B::Shl => self.shift(InstructionOpcode::Shl, x, y),
            B::Lshr => self.shift(InstructionOpcode::LShr, x, y),
            B::Ashr => self.shift(InstructionOpcode::AShr, x, y),
            B::Fadd => self.float_op(InstructionOpcode::FAdd, s, x, y, exact),
            B::Fsub => self.float_op(InstructionOpcode::FSub, s, x, y, exact),
            B::Fmul => self.float_op(InstructionOpcode::FMul, s, x, y, exact),
            B::Fdiv => self.float_op(InstructionOpcode::FDiv, s, x, y, exact),
            B::Fmin | B::Fmax if s == Scalar::F16 && !self.e.caps.native_f16 && lanes(x).is_some() => {
                self.e.pick_half(if op == B::Fmin { IntPredicate::SLT } else { IntPredicate::SGT }, x, y)
            }
            B::Fmin => self.float_binary(s, x, y, |l, _, x, y| l.float_pick(FloatPredicate::OLT, x, y)),
            B::Fmax => self.float_binary(s, x, y, |l, _, x, y| l.float_pick(FloatPredicate::OGT, x, y)),
            B::Fmod => self.float_mod(s, x, y),
            B::Frem => self.float_rem(s, x, y),
            B::Pow => self.math2(MathFn::Pow, s, x, y),
            B::Atan2 => self.math2(MathFn::Atan2, s, x, y),
            B::Ldexp => self.ldexp(s, x, y),
        }
    }

    /// A comparison of elements of type `s`.
    pub(crate) fn compare(&mut self, op: CompareOp, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        use CompareOp as C;
        let float = match op {
            C::Ieq => return self.e.icmp(IntPredicate::EQ, x, y),
            C::Ine => return self.e.icmp(IntPredicate::NE, x, y),
            C::Slt => return self.e.icmp(IntPredicate::SLT, x, y),
            C::Sle => return self.e.icmp(IntPredicate::SLE, x, y),
            C::Ult => return self.e.icmp(IntPredicate::ULT, x, y),
            C::Ule => return self.e.icmp(IntPredicate::ULE, x, y),
            C::FordEq => FloatPredicate::OEQ,
            C::FordNe => FloatPredicate::ONE,
            C::FordLt => FloatPredicate::OLT,
            C::FordLe => FloatPredicate::OLE,
            C::FunordEq => FloatPredicate::UEQ,
            C::FunordNe => FloatPredicate::UNE,
            C::FunordLt => FloatPredicate::ULT,
            C::FunordLe => FloatPredicate::ULE,
        };
        let (x, y) = (self.computable(s, x)?, self.computable(s, y)?);
        self.e.fcmp(float, x, y)
    }
}
