//! Integer and floating-point arithmetic, element by element, on scalars and vectors of any length.
//!
//! The meaning is that of `phalanx_ir::eval`. Where LLVM leaves a case undefined or the processor
//! traps (division by zero, overflow of a quotient), the operands are replaced first.
//!
//! `f16` is computed in `f32` and rounded after each operation, unless the processor computes it
//! itself: for one addition, multiplication, division or square root that rounds the same, because
//! `f32` has more than twice the precision.

use crate::emit::{V, elem_ty, int_bits, lanes};
use crate::error::Result;
use crate::lower::Lower;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValue, InstructionOpcode};
use inkwell::{FloatPredicate, IntPredicate};
use phalanx_ir::{BinaryOp, CompareOp, ConvertKind, ConvertOp, Scalar, UnaryOp};
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
            U::Exp => self.math1(MathFn::Exp, s, x),
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
            B::Iadd => self.e.add(x, y),
            B::Isub => self.e.sub(x, y),
            B::Imul => self.e.mul(x, y),
            B::Sdiv | B::Udiv | B::Srem | B::Umod | B::Smod => self.int_division(op, x, y),
            B::SmulHi => self.mul_high(x, y, InstructionOpcode::SExt),
            B::UmulHi => self.mul_high(x, y, InstructionOpcode::ZExt),
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

    /// `x * y + z` with one rounding.
    pub(crate) fn fma(&mut self, s: Scalar, x: V<'c>, y: V<'c>, z: V<'c>) -> Result<V<'c>> {
        match s {
            Scalar::F16 if self.e.caps.native_f16 => {
                self.e.intrinsic("llvm.fma", &[x.get_type()], &[x, y, z])
            }
            // The product of two f16 is exact in f32, its sum with a third is not; but in f64 it is
            // close enough that rounding to odd keeps what the final rounding needs.
            Scalar::F16 => {
                let [x, y, z] = [x, y, z].map(|v| {
                    let v = self.convert(ConvertOp::new(ConvertKind::FToF), Scalar::F16, Scalar::F32, v)?;
                    self.e.cast(InstructionOpcode::FPExt, v, self.e.cx.f64_type())
                });
                let product = self.e.bin(InstructionOpcode::FMul, x?, y?)?;
                let sum = self.add_to_odd(product, z?)?;
                self.convert(ConvertOp::new(ConvertKind::FToF), Scalar::F64, Scalar::F16, sum)
            }
            _ if self.e.caps.fma => self.e.intrinsic("llvm.fma", &[x.get_type()], &[x, y, z]),
            Scalar::F32 => {
                let wide = |v| self.e.cast(InstructionOpcode::FPExt, v, self.e.cx.f64_type());
                let (product, z) = (self.e.bin(InstructionOpcode::FMul, wide(x)?, wide(y)?)?, wide(z)?);
                let sum = self.add_to_odd(product, z)?;
                self.e.cast(InstructionOpcode::FPTrunc, sum, self.e.cx.f32_type())
            }
            _ => self.soft_fma_f64(x, y, z),
        }
    }
}

/// Integers.
impl<'c> Lower<'_, 'c> {
    fn highest_bit(&mut self, x: V<'c>) -> Result<V<'c>> {
        let no = self.e.bool(false);
        let above = self.e.intrinsic("llvm.ctlz", &[x.get_type()], &[x, no])?;
        // Without a bit set there are as many zeros as bits, which gives all ones.
        self.e.sub(self.e.int_like(x, u64::from(int_bits(x)) - 1), above)
    }

    /// The shift count is taken modulo the width.
    fn shift(&mut self, op: InstructionOpcode, x: V<'c>, count: V<'c>) -> Result<V<'c>> {
        let bits = int_bits(x);
        let count = self.e.zext_trunc(count, bits)?;
        let count = self.e.and(count, self.e.int_like(x, u64::from(bits) - 1))?;
        self.e.bin(op, x, count)
    }

    fn mul_high(&mut self, x: V<'c>, y: V<'c>, extend: InstructionOpcode) -> Result<V<'c>> {
        let bits = int_bits(x);
        let wide = self.e.int_ty(2 * bits);
        let (a, b) = (self.e.cast(extend, x, wide)?, self.e.cast(extend, y, wide)?);
        let product = self.e.mul(a, b)?;
        let high = self.e.lshr(product, self.e.int_like(product, bits.into()))?;
        self.e.zext_trunc(high, bits)
    }

    /// Quotients and remainders; 0 when dividing by 0.
    fn int_division(&mut self, op: BinaryOp, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let signed = matches!(op, BinaryOp::Sdiv | BinaryOp::Srem | BinaryOp::Smod);
        let is_quotient = matches!(op, BinaryOp::Sdiv | BinaryOp::Udiv);
        let result = match lanes(x).is_some() && int_bits(x) == 64 && !y.is_const() {
            true => self.divide_elements(is_quotient, signed, x, y)?,
            false => self.divide(is_quotient, signed, x, y)?,
        };
        let zero = self.e.int_like(y, 0);
        if is_quotient {
            let by_zero = self.e.icmp(IntPredicate::EQ, y, zero)?;
            return self.e.select(by_zero, zero, result);
        }
        if op != BinaryOp::Smod {
            return Ok(result);
        }
        let sum = self.e.add(result, y)?;
        let signs = self.e.xor(result, y)?;
        let opposite = self.e.icmp(IntPredicate::SLT, signs, zero)?;
        let inexact = self.e.icmp(IntPredicate::NE, result, zero)?;
        self.e.select(self.e.and(opposite, inexact)?, sum, result)
    }

    /// A quotient or a remainder, the remainder of dividing by 0 being 0.
    fn divide(&mut self, is_quotient: bool, signed: bool, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let mut refused = self.e.icmp(IntPredicate::EQ, y, self.e.int_like(y, 0))?;
        if signed {
            let minus_one = self.e.icmp(IntPredicate::EQ, y, self.e.int_like(y, u64::MAX))?;
            let least = self.e.icmp(IntPredicate::EQ, x, self.e.int_like(x, 1 << (int_bits(x) - 1)))?;
            refused = self.e.or(refused, self.e.and(minus_one, least)?)?;
        }
        // With 1 as the divisor, the least number gives itself, which is what wrapping means, and
        // every remainder is 0.
        let divisor = self.e.select(refused, self.e.int_like(y, 1), y)?;
        match is_quotient {
            true => self.quotient(signed, x, divisor),
            false => self.remainder(signed, x, divisor),
        }
    }

    /// [`Self::divide`] for vectors that are divided as integers. There no select may guard the
    /// divisor: LLVM 19 takes the whole vector of quotients for poison where one element of the
    /// divisor is 0, looks at the arms of a select by themselves, and keeps the other arm. So the
    /// magnitudes are divided, by 1 at least.
    fn divide_elements(&mut self, is_quotient: bool, signed: bool, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        use InstructionOpcode as I;
        let no = self.e.bool(false);
        let mut magnitude = |v: V<'c>| match signed {
            true => self.e.intrinsic("llvm.abs", &[v.get_type()], &[v, no]),
            false => Ok(v),
        };
        let (a, b) = (magnitude(x)?, magnitude(y)?);
        let b = self.e.map2("llvm.umax", b, self.e.int_like(b, 1))?;
        let result = self.e.bin(if is_quotient { I::UDiv } else { I::URem }, a, b)?;
        if !signed {
            return Ok(result);
        }
        // A quotient has the sign of both operands, a remainder that of the dividend.
        let sign = if is_quotient { self.e.xor(x, y)? } else { x };
        let zero = self.e.int_like(x, 0);
        let negative = self.e.icmp(IntPredicate::SLT, sign, zero)?;
        self.e.select(negative, self.e.sub(zero, result)?, result)
    }

    /// A quotient that neither divides by zero nor overflows.
    fn quotient(&mut self, signed: bool, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        use InstructionOpcode as I;
        let bits = int_bits(x);
        if lanes(x).is_none() || bits == 64 || y.is_const() {
            return self.e.bin(if signed { I::SDiv } else { I::UDiv }, x, y);
        }
        // Vectors of integers can't be divided by the processors we know, vectors of floats can.
        // The rounded quotient is at most the exact one rounded up to the next integer if that is
        // nearer than 1/y, which it never is with these widths.
        let float: BasicTypeEnum<'c> =
            if bits <= 16 { self.e.cx.f32_type().into() } else { self.e.cx.f64_type().into() };
        let (to_float, to_int) = if signed { (I::SIToFP, I::FPToSI) } else { (I::UIToFP, I::FPToUI) };
        let (a, b) = (self.e.cast(to_float, x, float)?, self.e.cast(to_float, y, float)?);
        let q = self.e.bin(I::FDiv, a, b)?;
        self.e.cast(to_int, q, elem_ty(x))
    }

    fn remainder(&mut self, signed: bool, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        use InstructionOpcode as I;
        if lanes(x).is_none() || int_bits(x) == 64 || y.is_const() {
            return self.e.bin(if signed { I::SRem } else { I::URem }, x, y);
        }
        let q = self.quotient(signed, x, y)?;
        self.e.sub(x, self.e.mul(q, y)?)
    }
}

/// Floats.
impl<'c> Lower<'_, 'c> {
    /// A value of a float type that the processor computes with: `f16` as `f32` where needed.
    pub(crate) fn computable(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        match s {
            Scalar::F32 | Scalar::F64 => Ok(x),
            Scalar::F16 if self.e.caps.native_f16 => Ok(x),
            _ => self.convert(ConvertOp::new(ConvertKind::FToF), s, Scalar::F32, x),
        }
    }

    /// The type that elements of type `s` are computed in.
    fn computed(&self, s: Scalar) -> Scalar {
        match s {
            Scalar::F32 | Scalar::F64 => s,
            Scalar::F16 if self.e.caps.native_f16 => s,
            _ => Scalar::F32,
        }
    }

    fn back_to(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        match self.computed(s) {
            c if c == s => Ok(x),
            c => self.convert(ConvertOp::new(ConvertKind::FToF), c, s, x),
        }
    }

    fn float_unary(
        &mut self,
        s: Scalar,
        x: V<'c>,
        rounds: bool,
        f: impl FnOnce(&mut Self, Scalar, V<'c>) -> Result<V<'c>>,
    ) -> Result<V<'c>> {
        let x = self.computable(s, x)?;
        let y = f(self, self.computed(s), x)?;
        if rounds { self.back_to(s, y) } else { Ok(y) }
    }

    pub(crate) fn float_binary(
        &mut self,
        s: Scalar,
        x: V<'c>,
        y: V<'c>,
        f: impl FnOnce(&mut Self, Scalar, V<'c>, V<'c>) -> Result<V<'c>>,
    ) -> Result<V<'c>> {
        let (x, y) = (self.computable(s, x)?, self.computable(s, y)?);
        let z = f(self, self.computed(s), x, y)?;
        self.back_to(s, z)
    }

    fn float_op(
        &mut self,
        op: InstructionOpcode,
        s: Scalar,
        x: V<'c>,
        y: V<'c>,
        exact: bool,
    ) -> Result<V<'c>> {
        self.float_binary(s, x, y, |l, _, x, y| {
            let z = l.e.bin(op, x, y)?;
            if exact { Ok(z) } else { l.e.contract(z) }
        })
    }

    /// A float constant of type `s`, in each element if `like` is a vector.
    pub(crate) fn float_like(&self, s: Scalar, x: f64, like: V<'c>) -> V<'c> {
        self.e.const_like(self.e.float_const(s, x), like)
    }

    /// Flips or clears the sign, which needs no arithmetic.
    fn change_sign(&mut self, s: Scalar, x: V<'c>, flip: bool) -> Result<V<'c>> {
        let sign = 1u64 << (s.bits() - 1);
        let bits = self.e.bitcast(x, self.e.ty_like(self.e.int_ty(s.bits()), x))?;
        let changed = if flip {
            self.e.xor(bits, self.e.int_like(bits, sign))?
        } else {
            self.e.and(bits, self.e.int_like(bits, sign - 1))?
        };
        self.e.bitcast(changed, x.get_type())
    }

    fn float_sign(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        let zero = self.float_like(s, 0.0, x);
        let positive = self.e.fcmp(FloatPredicate::OGT, x, zero)?;
        let negative = self.e.fcmp(FloatPredicate::OLT, x, zero)?;
        let below = self.e.select(negative, self.float_like(s, -1.0, x), zero)?;
        self.e.select(positive, self.float_like(s, 1.0, x), below)
    }

    /// The second operand if it is better or the first is NaN, otherwise the first.
    fn float_pick(&mut self, better: FloatPredicate, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let is_better = self.e.fcmp(better, y, x)?;
        let best = self.e.select(is_better, y, x)?;
        let x_is_nan = self.e.fcmp(FloatPredicate::UNO, x, x)?;
        self.e.select(x_is_nan, y, best)
    }

    /// `x - y * floor(x / y)`, each step rounded.
    fn float_mod(&mut self, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let quotient = self.binary(BinaryOp::Fdiv, s, x, y, true)?;
        let whole = self.unary(UnaryOp::Floor, s, quotient, true)?;
        let product = self.binary(BinaryOp::Fmul, s, y, whole, true)?;
        self.binary(BinaryOp::Fsub, s, x, product, true)
    }

    /// The remainder is exact, so that it does not matter in which type it is computed.
    fn float_rem(&mut self, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        if s == Scalar::F64 { self.float_rem_f64(x, y) } else { self.math2(MathFn::Frem, s, x, y) }
    }

    /// A quotient that is rounded leaves an exact rest, which has the other sign if the quotient was too
    /// large. Two steps do for quotients up to 2^104; Vulkan asks no more than `x - y * trunc(x / y)`.
    fn float_rem_f64(&mut self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let s = Scalar::F64;
        let (size, divisor) = (self.change_sign(s, x, false)?, self.change_sign(s, y, false)?);
        let [zero, largest, infinity, nan] =
            [0.0, f64::MAX, f64::INFINITY, f64::NAN].map(|c| self.float_like(s, c, x));
        let mut rest = size;
        for _ in 0..2 {
            let quotient = self.e.bin(InstructionOpcode::FDiv, rest, divisor)?;
            let overflows = self.e.fcmp(FloatPredicate::OGT, quotient, largest)?;
            let quotient = self.e.select(overflows, largest, quotient)?;
            let whole = self.e.map1("llvm.trunc", quotient)?;
            let negated = self.change_sign(s, whole, true)?;
            let next = self.fma(s, negated, divisor, rest)?;
            let is_negative = self.e.fcmp(FloatPredicate::OLT, next, zero)?;
            let more = self.e.bin(InstructionOpcode::FAdd, next, divisor)?;
            let next = self.e.select(is_negative, more, next)?;
            // Also if the divisor is infinite.
            let done = self.e.fcmp(FloatPredicate::OLT, rest, divisor)?;
            rest = self.e.select(done, rest, next)?;
        }
        let undefined = self.e.fcmp(FloatPredicate::UGE, size, infinity)?;
        let divides = self.e.fcmp(FloatPredicate::OGT, divisor, zero)?;
        let rest = self.e.select(undefined, nan, rest)?;
        let rest = self.e.select(divides, rest, nan)?;
        self.e.map2("llvm.copysign", rest, x)
    }

    /// `x * 2^n`, rounded once.
    fn ldexp(&mut self, s: Scalar, x: V<'c>, n: V<'c>) -> Result<V<'c>> {
        match s {
            // In f64 no product of an f32 and these powers is inexact.
            Scalar::F16 | Scalar::F32 => {
                let x = self.convert(ConvertOp::new(ConvertKind::FToF), s, Scalar::F64, x)?;
                let n = self.clamp_signed(n, -400, 400)?;
                let power = self.power_of_two(n)?;
                let y = self.e.bin(InstructionOpcode::FMul, x, power)?;
                self.convert(ConvertOp::new(ConvertKind::FToF), Scalar::F64, s, y)
            }
            _ => self.ldexp_f64(x, n),
        }
    }

    /// Multiplies in three steps, of which only the last may round.
    fn ldexp_f64(&mut self, mut x: V<'c>, mut n: V<'c>) -> Result<V<'c>> {
        const DOWN: i64 = -1022 + 53;
        for _ in 0..2 {
            let high = self.e.icmp(IntPredicate::SGT, n, self.e.int_like(n, 1023))?;
            let low = self.e.icmp(IntPredicate::SLT, n, self.e.int_like(n, -1022i64 as u64))?;
            let zero = self.e.int_like(n, 0);
            let step = self.e.select(low, self.e.int_like(n, DOWN as u64), zero)?;
            let step = self.e.select(high, self.e.int_like(n, 1023), step)?;
            let power = self.power_of_two(step)?;
            x = self.e.bin(InstructionOpcode::FMul, x, power)?;
            n = self.e.sub(n, step)?;
        }
        let n = self.clamp_signed(n, -1022, 1023)?;
        let power = self.power_of_two(n)?;
        self.e.bin(InstructionOpcode::FMul, x, power)
    }

    fn clamp_signed(&mut self, n: V<'c>, low: i64, high: i64) -> Result<V<'c>> {
        let n = self.e.map2("llvm.smax", n, self.e.int_like(n, low as u64))?;
        self.e.map2("llvm.smin", n, self.e.int_like(n, high as u64))
    }

    /// `2^n` as an `f64`, for the exponent of a normal number.
    fn power_of_two(&mut self, n: V<'c>) -> Result<V<'c>> {
        let wide = self.e.sext_trunc(n, 64)?;
        let biased = self.e.add(wide, self.e.int_like(wide, 1023))?;
        let bits = self.e.shl(biased, self.e.int_like(wide, 52))?;
        self.e.bitcast(bits, self.e.ty_like(self.e.cx.f64_type(), bits))
    }

    /// Sum and rounding error of two `f64`.
    fn two_sum(&mut self, x: V<'c>, y: V<'c>) -> Result<(V<'c>, V<'c>)> {
        use InstructionOpcode::{FAdd, FSub};
        let sum = self.e.bin(FAdd, x, y)?;
        let part = self.e.bin(FSub, sum, x)?;
        let rest = self.e.bin(FSub, sum, part)?;
        let (ex, ey) = (self.e.bin(FSub, x, rest)?, self.e.bin(FSub, y, part)?);
        Ok((sum, self.e.bin(FAdd, ex, ey)?))
    }

    /// `x + y` in `f64`, rounded to the neighbour with an odd last bit if inexact: a second
    /// rounding, to at most 51 bits, then gives what rounding the exact sum gives.
    fn add_to_odd(&mut self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let (sum, error) = self.two_sum(x, y)?;
        let f64_ty = self.e.cx.f64_type();
        let bits = self.e.bitcast(sum, self.e.ty_like(self.e.cx.i64_type(), sum))?;
        let error_bits = self.e.bitcast(error, bits.get_type())?;
        let zero = self.float_like(Scalar::F64, 0.0, error);
        // An infinite sum has NaN as its error, which compares as unordered.
        let inexact = self.e.fcmp(FloatPredicate::ONE, error, zero)?;
        let odd = self.e.and(bits, self.e.int_like(bits, 1))?;
        let even = self.e.icmp(IntPredicate::EQ, odd, self.e.int_like(bits, 0))?;
        let signs = self.e.xor(bits, error_bits)?;
        let toward = self.e.icmp(IntPredicate::SLT, signs, self.e.int_like(bits, 0))?;
        let step = self.e.select(toward, self.e.int_like(bits, u64::MAX), self.e.int_like(bits, 1))?;
        let moved = self.e.add(bits, step)?;
        let bits = self.e.select(self.e.and(inexact, even)?, moved, bits)?;
        self.e.bitcast(bits, self.e.ty_like(f64_ty, bits))
    }

    /// `x * y + z` on processors that can't, after Boldo and Melquiond, "Emulation of a FMA and
    /// correctly rounded sums" (2008); exact unless the product over- or underflows.
    fn soft_fma_f64(&mut self, x: V<'c>, y: V<'c>, z: V<'c>) -> Result<V<'c>> {
        use InstructionOpcode::FAdd;
        let (uh, ul) = self.two_product(x, y)?;
        let (th, tl) = self.two_sum(z, ul)?;
        let (vh, vl) = self.two_sum(uh, th)?;
        let low = self.add_to_odd(tl, vl)?;
        let sum = self.e.bin(FAdd, vh, low)?;
        // Where the parts are infinite or NaN, so is the plain result.
        let plain = self.e.bin(FAdd, uh, z)?;
        let ordered = self.e.fcmp(FloatPredicate::ORD, sum, sum)?;
        self.e.select(ordered, sum, plain)
    }

    /// Product and rounding error of two `f64`, after Veltkamp and Dekker.
    fn two_product(&mut self, x: V<'c>, y: V<'c>) -> Result<(V<'c>, V<'c>)> {
        use InstructionOpcode::{FAdd, FMul, FSub};
        let product = self.e.bin(FMul, x, y)?;
        let mut halves = Vec::new();
        for v in [x, y] {
            let factor = self.float_like(Scalar::F64, 134_217_729.0, v);
            let c = self.e.bin(FMul, v, factor)?;
            let high = self.e.bin(FSub, c, self.e.bin(FSub, c, v)?)?;
            halves.push((high, self.e.bin(FSub, v, high)?));
        }
        let ((xh, xl), (yh, yl)) = (halves[0], halves[1]);
        let mut error = self.e.bin(FSub, self.e.bin(FMul, xh, yh)?, product)?;
        for (a, b) in [(xh, yl), (xl, yh), (xl, yl)] {
            error = self.e.bin(FAdd, error, self.e.bin(FMul, a, b)?)?;
        }
        Ok((product, error))
    }
}
