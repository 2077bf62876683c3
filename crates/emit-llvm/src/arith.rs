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
mod pairs;
mod pick;
mod table;

use crate::error::Result;
use crate::{Emit, V, lanes};
use inkwell::values::InstructionOpcode;
use inkwell::{FloatPredicate, IntPredicate};
pub(crate) use pairs::PairSums;
use phalanx_ir::{BinaryOp, CompareOp, Scalar, UnaryOp};
use pick::Pick;

impl<'c> Emit<'c> {
    /// An operation on elements of type `s`. `exact` forbids fusing it with others.
    pub fn unary(&mut self, op: UnaryOp, s: Scalar, x: V<'c>, exact: bool) -> Result<V<'c>> {
        use UnaryOp as U;
        match op {
            U::Ineg => self.sub(self.int_like(x, 0), x),
            U::Not => self.not(x),
            U::BitReverse => self.map1("llvm.bitreverse", x),
            U::BitCount => self.map1("llvm.ctpop", x),
            U::FindLsb => {
                let no = self.bool(false);
                let n = self.intrinsic("llvm.cttz", &[x.get_type()], &[x, no])?;
                let zero = self.icmp(IntPredicate::EQ, x, self.int_like(x, 0))?;
                self.select(zero, self.int_like(x, u64::MAX), n)
            }
            U::FindUMsb => self.highest_bit(x),
            U::FindSMsb => {
                let sign = self.ashr(x, self.int_like(x, u64::from(s.bits()) - 1))?;
                let differing = self.xor(x, sign)?;
                self.highest_bit(differing)
            }
            U::Sabs => {
                let no = self.bool(false);
                self.intrinsic("llvm.abs", &[x.get_type()], &[x, no])
            }
            U::Ssign => {
                let low = self.map2("llvm.smax", x, self.int_like(x, u64::MAX))?;
                self.map2("llvm.smin", low, self.int_like(x, 1))
            }
            U::Fneg => self.change_sign(s, x, true),
            U::Fabs => self.change_sign(s, x, false),
            U::IsNan => self.float_unary(s, x, false, |l, _, x| l.fcmp(FloatPredicate::UNO, x, x)),
            U::IsInf => self.float_unary(s, x, false, |l, s, x| {
                let magnitude = l.map1("llvm.fabs", x)?;
                let infinity = l.float_like(s, f64::INFINITY, x);
                l.fcmp(FloatPredicate::OEQ, magnitude, infinity)
            }),
            U::Fsign => self.float_unary(s, x, true, Self::float_sign),
            U::Floor => self.float_unary(s, x, true, |l, _, x| l.map1("llvm.floor", x)),
            U::Ceil => self.float_unary(s, x, true, |l, _, x| l.map1("llvm.ceil", x)),
            U::Trunc => self.float_unary(s, x, true, |l, _, x| l.map1("llvm.trunc", x)),
            U::RoundEven => self.float_unary(s, x, true, |l, _, x| l.map1("llvm.roundeven", x)),
            U::Fract => self.float_unary(s, x, true, |l, _, x| {
                let whole = l.map1("llvm.floor", x)?;
                l.bin(InstructionOpcode::FSub, x, whole)
            }),
            U::Sqrt => self.float_unary(s, x, true, |l, _, x| l.map1("llvm.sqrt", x)),
            U::InverseSqrt => self.float_unary(s, x, true, |l, s, x| {
                let root = l.map1("llvm.sqrt", x)?;
                let one = l.float_like(s, 1.0, x);
                l.bin(InstructionOpcode::FDiv, one, root)
            }),
            U::Sin
            | U::Cos
            | U::Tan
            | U::Asin
            | U::Acos
            | U::Atan
            | U::Sinh
            | U::Cosh
            | U::Tanh
            | U::Asinh
            | U::Acosh
            | U::Atanh
            | U::Exp
            | U::Exp2
            | U::Log
            | U::Log2 => return self.math_unary(op, s, x),
        }
        .and_then(|v| if exact { Ok(v) } else { self.contract(v) })
    }

    /// An operation on elements of type `s`. `exact` forbids fusing it with others.
    pub fn binary(&mut self, op: BinaryOp, s: Scalar, x: V<'c>, y: V<'c>, exact: bool) -> Result<V<'c>> {
        use BinaryOp as B;
        match op {
            B::Iadd => self.add_or_dot(x, y),
            B::Isub => self.sub(x, y),
            B::Imul => self.mul(x, y),
            B::Sdiv | B::Udiv | B::Srem | B::Umod | B::Smod => self.int_division(op, x, y),
            B::SmulHi => self.mul_high(x, y, InstructionOpcode::SExt),
            B::UmulHi => self.mul_high(x, y, InstructionOpcode::ZExt),
            B::Sdot4 => self.dot_bytes((true, true), x, y),
            B::Udot4 => self.dot_bytes((false, false), x, y),
            B::Sudot4 => self.dot_bytes((true, false), x, y),
            B::Smin => self.map2("llvm.smin", x, y),
            B::Smax => self.map2("llvm.smax", x, y),
            B::Umin => self.map2("llvm.umin", x, y),
            B::Umax => self.map2("llvm.umax", x, y),
            B::And => self.and(x, y),
            B::Or => self.or(x, y),
            B::Xor => self.xor(x, y),
            B::Shl => self.shift(InstructionOpcode::Shl, x, y),
            B::Lshr => self.shift(InstructionOpcode::LShr, x, y),
            B::Ashr => self.shift(InstructionOpcode::AShr, x, y),
            B::Fadd => self.float_op(InstructionOpcode::FAdd, s, x, y, exact),
            B::Fsub => self.float_op(InstructionOpcode::FSub, s, x, y, exact),
            B::Fmul => self.float_op(InstructionOpcode::FMul, s, x, y, exact),
            B::Fdiv => self.float_op(InstructionOpcode::FDiv, s, x, y, exact),
            B::Fmin | B::Fmax
                if s == Scalar::F16
                    && let (Some(x), Some(y)) = (self.known_f32(x), self.known_f32(y)) =>
            {
                // One of two halves is a half.
                let picked =
                    self.float_pick(if op == B::Fmin { Pick::Smaller } else { Pick::Larger }, x, y)?;
                self.as_narrow(s, picked)
            }
            B::Fmin | B::Fmax if s == Scalar::F16 && !self.caps.native_f16 && lanes(x).is_some() => {
                self.pick_half(if op == B::Fmin { IntPredicate::SLT } else { IntPredicate::SGT }, x, y)
            }
            B::Fmin => self.float_binary(s, x, y, |l, _, x, y| l.float_pick(Pick::Smaller, x, y)),
            B::Fmax => self.float_binary(s, x, y, |l, _, x, y| l.float_pick(Pick::Larger, x, y)),
            B::Fmod => self.float_mod(s, x, y),
            B::Frem | B::Pow | B::Atan2 => self.math_binary(op, s, x, y),
            B::Ldexp => self.ldexp(s, x, y),
        }
    }

    /// A comparison of elements of type `s`.
    pub fn compare(&mut self, op: CompareOp, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        use CompareOp as C;
        let float = match op {
            C::Ieq => return self.icmp(IntPredicate::EQ, x, y),
            C::Ine => return self.icmp(IntPredicate::NE, x, y),
            C::Slt => return self.icmp(IntPredicate::SLT, x, y),
            C::Sle => return self.icmp(IntPredicate::SLE, x, y),
            C::Ult => return self.icmp(IntPredicate::ULT, x, y),
            C::Ule => return self.icmp(IntPredicate::ULE, x, y),
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
        self.fcmp(float, x, y)
    }
}
