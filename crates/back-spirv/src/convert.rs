//! Conversions between scalar types.
//!
//! IR's conversions of floats to integers saturate and make 0 of a NaN; those of SPIR-V are undefined outside of the
//! integer's range. So a float is brought into it first.

use phalanx_ir::{ConvertKind, ConvertOp, Rounding, Scalar, Value, eval};
use rspirv::spirv::{Decoration, Op, Word};

use crate::error::{Error, Res};
use crate::lower::Lower;

impl Lower<'_> {
    /// The instruction that converts a whole matrix, where it is defined for all numbers.
    pub(crate) fn whole_conversion(&self, op: ConvertOp, from: Value, to: Value) -> Option<Op> {
        if !self.keeps_use(from, to) {
            return None;
        }
        let (from, to) = (self.func.ty(from).elem()?, self.func.ty(to).elem()?);
        if op.rounding != Rounding::NearestEven || op.saturate || from == to || from.bits() == to.bits() {
            return None;
        }
        match op.kind {
            ConvertKind::SToS => Some(Op::SConvert),
            ConvertKind::UToU => Some(Op::UConvert),
            ConvertKind::FToF => Some(Op::FConvert),
            ConvertKind::SToF => Some(Op::ConvertSToF),
            ConvertKind::UToF => Some(Op::ConvertUToF),
            ConvertKind::FToS | ConvertKind::FToU => None,
        }
    }

    pub(crate) fn convert(&mut self, op: ConvertOp, from: Scalar, to: Scalar, x: Word) -> Res<Word> {
        if op.rounding != Rounding::NearestEven {
            return Err(Error::unsupported("a conversion that rounds towards zero"));
        }
        let ty = self.e.scalar(to);
        let opcode = match op.kind {
            ConvertKind::SToS | ConvertKind::UToU if from.bits() == to.bits() => return Ok(x),
            ConvertKind::FToF if from == to && !op.saturate => return Ok(x),
            ConvertKind::SToS => Op::SConvert,
            ConvertKind::UToU => Op::UConvert,
            ConvertKind::FToS => return self.truncated(true, from, to, x),
            ConvertKind::FToU => return self.truncated(false, from, to, x),
            ConvertKind::SToF => Op::ConvertSToF,
            ConvertKind::UToF => Op::ConvertUToF,
            ConvertKind::FToF => Op::FConvert,
        };
        let word = self.e.value(opcode, ty, &[x]);
        if op.saturate && to.bits() == 8 {
            self.e.decorate(word, Decoration::SaturatedToLargestFloat8NormalConversionEXT, &[]);
        }
        Ok(word)
    }

    /// Towards zero and saturating, NaN to 0.
    fn truncated(&mut self, is_signed: bool, from: Scalar, to: Scalar, x: Word) -> Res<Word> {
        // The bounds of an integer are numbers of f32 and of f64, but not of the narrower floats.
        let (from, x) = match from {
            Scalar::F32 | Scalar::F64 => (from, x),
            _ => {
                let float = self.e.scalar(Scalar::F32);
                (Scalar::F32, self.e.value(Op::FConvert, float, &[x]))
            }
        };
        let (float, ty, bool) = (self.e.scalar(from), self.e.scalar(to), self.e.bool());
        let bits = to.bits() - u32::from(is_signed);
        let precision = if from == Scalar::F64 { 53 } else { 24 };
        let end = 2f64.powi(bits.cast_signed());
        // The greatest float that is in range.
        let is_exact = bits <= precision;
        let most = if is_exact { end - 1.0 } else { end - 2f64.powi((bits - precision).cast_signed()) };
        let least = if is_signed { -end } else { 0.0 };
        let least = self.e.constant(from, eval::from_f64(from, least));
        let most = self.e.constant(from, eval::from_f64(from, most));
        // A NaN is not above anything, so it becomes the least.
        let is_above = self.e.value(Op::FOrdGreaterThan, bool, &[x, least]);
        let clamped = self.e.value(Op::Select, float, &[is_above, x, least]);
        let is_below = self.e.value(Op::FOrdLessThan, bool, &[clamped, most]);
        let clamped = self.e.value(Op::Select, float, &[is_below, clamped, most]);
        let opcode = if is_signed { Op::ConvertFToS } else { Op::ConvertFToU };
        let mut y = self.e.value(opcode, ty, &[clamped]);
        if !is_exact {
            let greatest = self.e.constant(to, u64::MAX >> (64 - bits));
            let is_beyond = self.e.value(Op::FOrdGreaterThan, bool, &[x, most]);
            y = self.e.value(Op::Select, ty, &[is_beyond, greatest, y]);
        }
        if is_signed {
            let zero = self.e.constant(to, 0);
            let is_nan = self.e.value(Op::IsNan, bool, &[x]);
            y = self.e.value(Op::Select, ty, &[is_nan, zero, y]);
        }
        Ok(y)
    }
}
