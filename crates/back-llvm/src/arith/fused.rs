//! Multiplication and addition with one rounding, where the processor has it and where it has not.

use crate::emit::V;
use crate::error::Result;
use crate::lower::Lower;
use inkwell::values::InstructionOpcode;
use inkwell::{FloatPredicate, IntPredicate};
use phalanx_ir::{ConvertKind, ConvertOp, Scalar};
use phalanx_kernels::math::MathFn;

impl<'c> Lower<'_, 'c> {
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
            _ => self.call_f64(MathFn::Fma, &[x, y, z]),
        }
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
}
