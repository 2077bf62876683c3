//! Floats: the type that they are computed in, signs, remainders, powers of two.

use crate::error::Result;
use crate::{Emit, V};
use inkwell::values::{BasicValue, InstructionOpcode};
use inkwell::{FloatPredicate, IntPredicate};
use phalanx_ir::{BinaryOp, ConvertKind, ConvertOp, Scalar, UnaryOp};

impl<'c> Emit<'c> {
    /// A value of a float type that the processor computes with: `f16` as `f32` where needed.
    pub fn computable(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        match s {
            Scalar::F32 | Scalar::F64 => Ok(x),
            Scalar::F16 if self.caps.native_f16 => Ok(x),
            _ => self.convert(ConvertOp::new(ConvertKind::FToF), s, Scalar::F32, x),
        }
    }

    /// The type that elements of type `s` are computed in.
    fn computed(&self, s: Scalar) -> Scalar {
        match s {
            Scalar::F32 | Scalar::F64 => s,
            Scalar::F16 if self.caps.native_f16 => s,
            _ => Scalar::F32,
        }
    }

    fn back_to(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        match self.computed(s) {
            c if c == s => Ok(x),
            c => self.convert(ConvertOp::new(ConvertKind::FToF), c, s, x),
        }
    }

    pub(super) fn float_unary(
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

    /// An operation in the type that elements of type `s` are computed in, and rounded from that.
    pub fn float_binary(
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

    pub(super) fn float_op(
        &mut self,
        op: InstructionOpcode,
        s: Scalar,
        x: V<'c>,
        y: V<'c>,
        exact: bool,
    ) -> Result<V<'c>> {
        if s == Scalar::F32
            && let Some(z) = self.float_op_on_table(op, x, y)?
        {
            return Ok(z);
        }
        let adds = matches!(op, InstructionOpcode::FAdd | InstructionOpcode::FSub);
        let [x, y] = [x, y].map(|v| match self.unrounded.get(&v) {
            Some(&wide) if adds && !exact => Ok(wide),
            _ => self.computable(s, v),
        });
        let z = self.bin(op, x?, y?)?;
        if exact {
            return self.back_to(s, z);
        }
        let wide = self.contract(z)?;
        let z = self.back_to(s, wide)?;
        // Constants are the same value wherever they come from.
        if z != wide && op != InstructionOpcode::FDiv && !z.is_const() {
            self.unrounded.insert(z, wide);
        }
        Ok(z)
    }

    /// A float constant of type `s`, in each element if `like` is a vector.
    pub fn float_like(&self, s: Scalar, x: f64, like: V<'c>) -> V<'c> {
        self.const_like(self.float_const(s, x), like)
    }

    /// Flips or clears the sign, which needs no arithmetic.
    pub(super) fn change_sign(&mut self, s: Scalar, x: V<'c>, flip: bool) -> Result<V<'c>> {
        let sign = 1u64 << (s.bits() - 1);
        let bits = self.bitcast(x, self.ty_like(self.int_ty(s.bits()), x))?;
        let changed = if flip {
            self.xor(bits, self.int_like(bits, sign))?
        } else {
            self.and(bits, self.int_like(bits, sign - 1))?
        };
        self.bitcast(changed, x.get_type())
    }

    pub(super) fn float_sign(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        let zero = self.float_like(s, 0.0, x);
        let positive = self.fcmp(FloatPredicate::OGT, x, zero)?;
        let negative = self.fcmp(FloatPredicate::OLT, x, zero)?;
        let below = self.select(negative, self.float_like(s, -1.0, x), zero)?;
        self.select(positive, self.float_like(s, 1.0, x), below)
    }

    /// `x - y * floor(x / y)`, each step rounded.
    pub(super) fn float_mod(&mut self, s: Scalar, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let quotient = self.binary(BinaryOp::Fdiv, s, x, y, true)?;
        let whole = self.unary(UnaryOp::Floor, s, quotient, true)?;
        let product = self.binary(BinaryOp::Fmul, s, y, whole, true)?;
        self.binary(BinaryOp::Fsub, s, x, product, true)
    }

    /// `x * 2^n`, rounded once.
    pub(super) fn ldexp(&mut self, s: Scalar, x: V<'c>, n: V<'c>) -> Result<V<'c>> {
        match s {
            // In f64 no product of an f32 and these powers is inexact.
            Scalar::F16 | Scalar::F32 => {
                let x = self.convert(ConvertOp::new(ConvertKind::FToF), s, Scalar::F64, x)?;
                let n = self.clamp_signed(n, -400, 400)?;
                let power = self.power_of_two(n)?;
                let y = self.bin(InstructionOpcode::FMul, x, power)?;
                self.convert(ConvertOp::new(ConvertKind::FToF), Scalar::F64, s, y)
            }
            _ => self.ldexp_f64(x, n),
        }
    }

    /// Multiplies in three steps, of which only the last may round.
    fn ldexp_f64(&mut self, mut x: V<'c>, mut n: V<'c>) -> Result<V<'c>> {
        const DOWN: i64 = -1022 + 53;
        for _ in 0..2 {
            let high = self.icmp(IntPredicate::SGT, n, self.int_like(n, 1023))?;
            let low = self.icmp(IntPredicate::SLT, n, self.int_like(n, -1022i64 as u64))?;
            let zero = self.int_like(n, 0);
            let step = self.select(low, self.int_like(n, DOWN as u64), zero)?;
            let step = self.select(high, self.int_like(n, 1023), step)?;
            let power = self.power_of_two(step)?;
            x = self.bin(InstructionOpcode::FMul, x, power)?;
            n = self.sub(n, step)?;
        }
        let n = self.clamp_signed(n, -1022, 1023)?;
        let power = self.power_of_two(n)?;
        self.bin(InstructionOpcode::FMul, x, power)
    }

    fn clamp_signed(&mut self, n: V<'c>, low: i64, high: i64) -> Result<V<'c>> {
        let n = self.map2("llvm.smax", n, self.int_like(n, low as u64))?;
        self.map2("llvm.smin", n, self.int_like(n, high as u64))
    }

    /// `2^n` as an `f64`, for the exponent of a normal number.
    fn power_of_two(&mut self, n: V<'c>) -> Result<V<'c>> {
        let wide = self.sext_trunc(n, 64)?;
        let biased = self.add(wide, self.int_like(wide, 1023))?;
        let bits = self.shl(biased, self.int_like(wide, 52))?;
        self.bitcast(bits, self.ty_like(self.cx.f64_type(), bits))
    }
}
