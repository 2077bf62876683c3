//! Multiplication and addition with one rounding, where the processor has it and where it has not.

use crate::error::{Error, Result};
use crate::{Emit, V};
use inkwell::values::InstructionOpcode;
use inkwell::{FloatPredicate, IntPredicate};
use phalanx_ir::{ConvertKind, ConvertOp, Scalar};

impl<'c> Emit<'c> {
    /// `x * y + z` with one rounding.
    pub fn fma(&mut self, s: Scalar, x: V<'c>, y: V<'c>, z: V<'c>) -> Result<V<'c>> {
        match s {
            Scalar::F16 if self.caps.native_f16 => self.intrinsic("llvm.fma", &[x.get_type()], &[x, y, z]),
            // The product of two f16 is exact in f32, its sum with a third is not; but in f64 it is
            // close enough that rounding to odd keeps what the final rounding needs.
            Scalar::F16 => {
                let [x, y, z] = [x, y, z].map(|v| {
                    let v = self.convert(ConvertOp::new(ConvertKind::FToF), Scalar::F16, Scalar::F32, v)?;
                    self.cast(InstructionOpcode::FPExt, v, self.cx.f64_type())
                });
                let product = self.bin(InstructionOpcode::FMul, x?, y?)?;
                let sum = self.add_to_odd(product, z?)?;
                self.convert(ConvertOp::new(ConvertKind::FToF), Scalar::F64, Scalar::F16, sum)
            }
            _ if self.caps.fma => self.intrinsic("llvm.fma", &[x.get_type()], &[x, y, z]),
            Scalar::F32 => {
                let wide = |v| self.cast(InstructionOpcode::FPExt, v, self.cx.f64_type());
                let (product, z) = (self.bin(InstructionOpcode::FMul, wide(x)?, wide(y)?)?, wide(z)?);
                let sum = self.add_to_odd(product, z)?;
                self.cast(InstructionOpcode::FPTrunc, sum, self.cx.f32_type())
            }
            _ => Err(Error::bug("fma of 64-bit floats is for the target to make")),
        }
    }

    /// Sum and rounding error of two `f64`.
    fn two_sum(&mut self, x: V<'c>, y: V<'c>) -> Result<(V<'c>, V<'c>)> {
        use InstructionOpcode::{FAdd, FSub};
        let sum = self.bin(FAdd, x, y)?;
        let part = self.bin(FSub, sum, x)?;
        let rest = self.bin(FSub, sum, part)?;
        let (ex, ey) = (self.bin(FSub, x, rest)?, self.bin(FSub, y, part)?);
        Ok((sum, self.bin(FAdd, ex, ey)?))
    }

    /// `x + y` in `f64`, rounded to the neighbour with an odd last bit if inexact: a second
    /// rounding, to at most 51 bits, then gives what rounding the exact sum gives.
    fn add_to_odd(&mut self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let (sum, error) = self.two_sum(x, y)?;
        let f64_ty = self.cx.f64_type();
        let bits = self.bitcast(sum, self.ty_like(self.cx.i64_type(), sum))?;
        let error_bits = self.bitcast(error, bits.get_type())?;
        let zero = self.float_like(Scalar::F64, 0.0, error);
        // An infinite sum has NaN as its error, which compares as unordered.
        let inexact = self.fcmp(FloatPredicate::ONE, error, zero)?;
        let odd = self.and(bits, self.int_like(bits, 1))?;
        let even = self.icmp(IntPredicate::EQ, odd, self.int_like(bits, 0))?;
        let signs = self.xor(bits, error_bits)?;
        let toward = self.icmp(IntPredicate::SLT, signs, self.int_like(bits, 0))?;
        let step = self.select(toward, self.int_like(bits, u64::MAX), self.int_like(bits, 1))?;
        let moved = self.add(bits, step)?;
        let bits = self.select(self.and(inexact, even)?, moved, bits)?;
        self.bitcast(bits, self.ty_like(f64_ty, bits))
    }
}
