//! The smaller and the larger of two floats, of which one may be a NaN.
//!
//! The result is the other operand if one is a NaN, and the first one of two zeros. On x86 the minimum of two vectors,
//! VMINPS, is the second operand in both cases: with the operands exchanged that is right but for a NaN in the first, which
//! a comparison finds. LLVM makes one condition of two comparisons of both cases instead, and chooses by that: four
//! instructions for these two.

use crate::error::Result;
use crate::{Emit, V, elem_ty, lanes};
use inkwell::FloatPredicate;
use inkwell::types::BasicTypeEnum;

/// Which of two floats is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    Smaller,
    Larger,
}

impl Pick {
    /// The instruction for registers of so many bytes, of `f32` or `f64`.
    fn instruction(self, bytes: u32, is_double: bool) -> Option<&'static str> {
        Some(match (self, bytes, is_double) {
            (Self::Smaller, 16, false) => "llvm.x86.sse.min.ps",
            (Self::Smaller, 32, false) => "llvm.x86.avx.min.ps.256",
            (Self::Smaller, 64, false) => "llvm.x86.avx512.min.ps.512",
            (Self::Smaller, 16, true) => "llvm.x86.sse2.min.pd",
            (Self::Smaller, 32, true) => "llvm.x86.avx.min.pd.256",
            (Self::Smaller, 64, true) => "llvm.x86.avx512.min.pd.512",
            (Self::Larger, 16, false) => "llvm.x86.sse.max.ps",
            (Self::Larger, 32, false) => "llvm.x86.avx.max.ps.256",
            (Self::Larger, 64, false) => "llvm.x86.avx512.max.ps.512",
            (Self::Larger, 16, true) => "llvm.x86.sse2.max.pd",
            (Self::Larger, 32, true) => "llvm.x86.avx.max.pd.256",
            (Self::Larger, 64, true) => "llvm.x86.avx512.max.pd.512",
            _ => return None,
        })
    }
}

impl<'c> Emit<'c> {
    /// The smaller or the larger one of two floats: the other one if one of them is a NaN, the first of two zeros.
    pub(super) fn float_pick(&mut self, pick: Pick, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let best = match self.pick_registers(pick, y, x)? {
            Some(best) => best,
            None => {
                let better = match pick {
                    Pick::Smaller => FloatPredicate::OLT,
                    Pick::Larger => FloatPredicate::OGT,
                };
                let is_better = self.fcmp(better, y, x)?;
                self.select(is_better, y, x)?
            }
        };
        let x_is_nan = self.fcmp(FloatPredicate::UNO, x, x)?;
        self.select(x_is_nan, y, best)
    }

    /// What the instruction gives, register by register: the second operand unless the first is better.
    fn pick_registers(&mut self, pick: Pick, x: V<'c>, y: V<'c>) -> Result<Option<V<'c>>> {
        let bytes = match elem_ty(x) {
            BasicTypeEnum::FloatType(t) if t == self.cx.f32_type() => 4,
            BasicTypeEnum::FloatType(t) if t == self.cx.f64_type() => 8,
            _ => return Ok(None),
        };
        let Some(count) = lanes(x).filter(|_| self.caps.is_x86) else { return Ok(None) };
        let length = (self.caps.register_bytes / bytes).min(count);
        let Some(name) = pick.instruction(length * bytes, bytes == 8) else { return Ok(None) };
        let mut parts = Vec::new();
        for first in (0..count).step_by(length as usize) {
            let part = |l: &Self, v| l.permute(v, first..first + length);
            let mut args = vec![part(self, x)?, part(self, y)?];
            if length * bytes == 64 {
                // Exceptions are as everywhere else.
                args.push(self.i32(4));
            }
            parts.push(self.intrinsic(name, &[], &args)?);
        }
        self.concat(parts).map(Some)
    }
}
