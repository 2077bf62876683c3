//! Conversions between scalar types, element by element, each rounded once.
//!
//! The types narrower than `f32` are reached through `f32`. Where the way there would round, it
//! rounds to odd: to the neighbour with an odd last bit if inexact. A second rounding then gives
//! what rounding the exact value gives, in either rounding mode.

use crate::error::{Error, Result};
use crate::vector::splatted;
use crate::{Emit, V, elem_ty, int_bits, lanes};
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValue, InstructionOpcode as I};
use inkwell::{FloatPredicate, IntPredicate};
use phalanx_ir::{ConvertKind, ConvertOp, Rounding, Scalar};
use std::ops::RangeInclusive;

/// A format narrower than `f32`, by its encoding.
struct Format {
    bits: u32,
    fraction: u32,
    bias: u32,
    /// The largest finite number.
    max: u64,
    /// What overflow and infinity become.
    infinity: u64,
    nan: u64,
}

impl Format {
    fn of(s: Scalar) -> Result<Self> {
        Ok(match s {
            Scalar::F16 => {
                Self { bits: 16, fraction: 10, bias: 15, max: 0x7bff, infinity: 0x7c00, nan: 0x7e00 }
            }
            Scalar::BF16 => {
                Self { bits: 16, fraction: 7, bias: 127, max: 0x7f7f, infinity: 0x7f80, nan: 0x7fc0 }
            }
            Scalar::E4M3 => Self { bits: 8, fraction: 3, bias: 7, max: 0x7e, infinity: 0x7f, nan: 0x7f },
            Scalar::E5M2 => Self { bits: 8, fraction: 2, bias: 15, max: 0x7b, infinity: 0x7c, nan: 0x7e },
            _ => return Err(Error::bug(format!("{s} is no narrow float"))),
        })
    }
}

impl<'c> Emit<'c> {
    /// Converts elements of type `from` to type `to`.
    pub fn convert(&mut self, op: ConvertOp, from: Scalar, to: Scalar, x: V<'c>) -> Result<V<'c>> {
        match op.kind {
            ConvertKind::SToS => self.sext_trunc(x, to.bits()),
            ConvertKind::UToU => self.zext_trunc(x, to.bits()),
            ConvertKind::FToS => self.float_to_int(true, from, to, x),
            ConvertKind::FToU => self.float_to_int(false, from, to, x),
            ConvertKind::SToF => self.int_to_float(op, from, to, x, true),
            ConvertKind::UToF => self.int_to_float(op, from, to, x, false),
            ConvertKind::FToF => self.float_to_float(op, from, to, x),
        }
    }

    /// Any narrower float as `f32`, exactly; `f32` as it is.
    pub fn as_f32(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.convert(ConvertOp::new(ConvertKind::FToF), s, Scalar::F32, x)
    }

    /// `f32` rounded to a type.
    pub fn round_f32(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        self.convert(ConvertOp::new(ConvertKind::FToF), Scalar::F32, s, x)
    }

    /// Numbers of `f32` that a narrower type has as it. Whoever widens them has these again, without that they are rounded.
    pub fn as_narrow(&mut self, s: Scalar, x: V<'c>) -> Result<V<'c>> {
        let narrow = self.round_f32(s, x)?;
        // Constants are the same value wherever they come from.
        if narrow != x && !narrow.is_const() {
            self.exact.insert(narrow, x);
        }
        Ok(narrow)
    }

    /// The numbers of `f32` that a narrower value is, if they are there.
    pub(crate) fn known_f32(&self, x: V<'c>) -> Option<V<'c>> {
        self.exact.get(&x).copied()
    }

    /// Towards zero and saturating, NaN to 0.
    fn float_to_int(&mut self, signed: bool, from: Scalar, to: Scalar, x: V<'c>) -> Result<V<'c>> {
        let (from, x) = if from == Scalar::F64 { (from, x) } else { (Scalar::F32, self.as_f32(from, x)?) };
        let ty = self.int_ty(to.bits());
        if lanes(x).is_none() {
            let name = if signed { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
            return self.intrinsic(name, &[ty.into(), x.get_type()], &[x]);
        }
        // LLVM 19 takes vectors apart for the saturating intrinsics.
        let bits = to.bits() - u32::from(signed);
        let precision = if from == Scalar::F64 { 53 } else { 24 };
        let end = 2f64.powi(bits.cast_signed());
        let is_exact = bits <= precision;
        let most = if is_exact { end - 1.0 } else { end - 2f64.powi((bits - precision).cast_signed()) };
        let least = self.float_like(from, if signed { -end } else { 0.0 }, x);
        let most = self.float_like(from, most, x);
        // A NaN becomes the least.
        let above = self.fcmp(FloatPredicate::OGT, x, least)?;
        let clamped = self.select(above, x, least)?;
        let below = self.fcmp(FloatPredicate::OLT, clamped, most)?;
        let clamped = self.select(below, clamped, most)?;
        let op = if signed { I::FPToSI } else { I::FPToUI };
        let mut y = self.cast(op, clamped, ty)?;
        if !is_exact {
            let too_large = self.fcmp(FloatPredicate::OGT, x, most)?;
            y = self.select(too_large, self.int_like(y, u64::MAX >> (64 - bits)), y)?;
        }
        if signed {
            let is_nan = self.fcmp(FloatPredicate::UNO, x, x)?;
            y = self.select(is_nan, self.int_like(y, 0), y)?;
        }
        Ok(y)
    }

    fn int_to_float(
        &mut self,
        op: ConvertOp,
        from: Scalar,
        to: Scalar,
        x: V<'c>,
        signed: bool,
    ) -> Result<V<'c>> {
        if (from.bits(), to) == (32, Scalar::F32)
            && let Some(y) = self.nibbles_to_float(x)?
        {
            return Ok(y);
        }
        let cast = if signed { I::SIToFP } else { I::UIToFP };
        let near = op.rounding == Rounding::NearestEven;
        let precision = match to {
            Scalar::F64 => 53,
            _ => 24,
        };
        let fits = from.bits() - u32::from(signed) <= precision;
        match to {
            Scalar::F32 | Scalar::F64 if near || fits => self.cast(cast, x, self.scalar_ty(to)),
            Scalar::F32 | Scalar::F64 => {
                let x = self.shorten(x, signed, precision, false)?;
                self.cast(cast, x, self.scalar_ty(to))
            }
            _ => {
                let x = match to {
                    _ if fits => x,
                    Scalar::F16 | Scalar::E4M3 | Scalar::E5M2 => self.limit(x, signed)?,
                    _ => self.shorten(x, signed, precision, true)?,
                };
                let x = self.cast(cast, x, self.cx.f32_type())?;
                self.narrow(op, to, x)
            }
        }
    }

    /// Converts integers of 32 bits that are known to be within [`Self::EXACT_HALVES`] to halves. Whoever widens those has
    /// the numbers without that they are rounded, which LLVM cannot know to change nothing.
    pub fn exact_half(&mut self, x: V<'c>) -> Result<V<'c>> {
        let wide = self.cast(I::SIToFP, x, self.cx.f32_type())?;
        let half = self.narrow(ConvertOp::new(ConvertKind::SToF), Scalar::F16, wide)?;
        self.exact.insert(half, wide);
        Ok(half)
    }

    /// Says that a half is what it was rounded from, as whole numbers are: whoever widens it has that.
    pub fn note_exact(&mut self, half: V<'c>) {
        if let Some(&wide) = self.unrounded.get(&half) {
            self.exact.insert(half, wide);
        }
    }

    /// The elements of a vector of type `s`. Whoever widens one of them has it from the vector, widened as a whole.
    pub fn elements(&mut self, s: Scalar, x: V<'c>) -> Result<Vec<V<'c>>> {
        let n = lanes(x).ok_or_else(|| Error::bug("expected a vector"))?;
        self.choices(s, x, n, |e, x, i| e.extract_at(x, i))
    }

    /// Chosen elements of a vector of type `s`. Whoever widens them has them from the vector, widened before.
    pub fn pick(&mut self, s: Scalar, x: V<'c>, picks: &[u32]) -> Result<V<'c>> {
        Ok(self.choices(s, x, 1, |e, x, _| e.permute(x, picks.iter().copied()))?[0])
    }

    /// What is chosen of a vector, `n` times, and of the vector of f32 that it is.
    fn choices(
        &mut self,
        s: Scalar,
        x: V<'c>,
        n: u32,
        choose: impl Fn(&Self, V<'c>, u32) -> Result<V<'c>>,
    ) -> Result<Vec<V<'c>>> {
        let chosen = (0..n).map(|i| choose(self, x, i)).collect::<Result<Vec<_>>>()?;
        if s == Scalar::F16 && !self.caps.native_f16 {
            let wide = self.widen(s, x)?;
            for (i, &chosen) in (0..).zip(&chosen) {
                self.exact.insert(chosen, choose(self, wide, i)?);
            }
        }
        Ok(chosen)
    }

    /// The integers that halves have, each of them.
    pub const EXACT_HALVES: RangeInclusive<i64> = -2048..=2048;

    /// Brings an integer within a range that f32 has exactly, and beyond which there is no half or narrower
    /// float.
    fn limit(&mut self, x: V<'c>, signed: bool) -> Result<V<'c>> {
        const LIMIT: i64 = 1 << 20;
        let high = self.int_like(x, LIMIT.cast_unsigned());
        if !signed {
            return self.map2("llvm.umin", x, high);
        }
        let low = self.int_like(x, (-LIMIT).cast_unsigned());
        let x = self.map2("llvm.smin", x, high)?;
        self.map2("llvm.smax", x, low)
    }

    /// Rounds an integer to `precision` bits, towards zero or to odd.
    fn shorten(&mut self, x: V<'c>, signed: bool, precision: u32, odd: bool) -> Result<V<'c>> {
        let (zero, bits) = (self.int_like(x, 0), int_bits(x));
        let no = self.bool(false);
        let magnitude = if signed { self.intrinsic("llvm.abs", &[x.get_type()], &[x, no])? } else { x };
        let leading = self.intrinsic("llvm.ctlz", &[x.get_type()], &[magnitude, no])?;
        let surplus = self.map2("llvm.usub.sat", self.int_like(x, (bits - precision).into()), leading)?;
        let kept = self.shl(self.int_like(x, u64::MAX), surplus)?;
        let mut short = self.and(magnitude, kept)?;
        if odd {
            let exact = self.icmp(IntPredicate::EQ, short, magnitude)?;
            let last = self.shl(self.int_like(x, 1), surplus)?;
            let sticky = self.select(exact, zero, last)?;
            short = self.or(short, sticky)?;
        }
        if !signed {
            return Ok(short);
        }
        let negative = self.icmp(IntPredicate::SLT, x, zero)?;
        let negated = self.sub(zero, short)?;
        self.select(negative, negated, short)
    }

    fn float_to_float(&mut self, op: ConvertOp, from: Scalar, to: Scalar, x: V<'c>) -> Result<V<'c>> {
        let (f32_ty, f64_ty) = (self.cx.f32_type(), self.cx.f64_type());
        if from == to && !(op.saturate && to.bits() == 8) {
            return Ok(x);
        }
        let x = match from {
            Scalar::F64 if to == Scalar::F32 => {
                let y = self.cast(I::FPTrunc, x, f32_ty)?;
                return if op.rounding == Rounding::TowardZero { self.toward_zero(x, y) } else { Ok(y) };
            }
            Scalar::F64 => self.f32_rounded_to_odd(x)?,
            Scalar::F32 => x,
            _ => self.widen(from, x)?,
        };
        match to {
            Scalar::F32 => Ok(x),
            Scalar::F64 => self.cast(I::FPExt, x, f64_ty),
            _ => self.narrow(op, to, x),
        }
    }

    /// `f64` to `f32`, rounded to odd.
    fn f32_rounded_to_odd(&mut self, x: V<'c>) -> Result<V<'c>> {
        let y = self.cast(I::FPTrunc, x, self.cx.f32_type())?;
        let back = self.cast(I::FPExt, y, self.cx.f64_type())?;
        let inexact = self.fcmp(FloatPredicate::ONE, back, x)?;
        let (a, b) = (self.map1("llvm.fabs", back)?, self.map1("llvm.fabs", x)?);
        let too_large = self.fcmp(FloatPredicate::OGT, a, b)?;
        let bits = self.bitcast(y, self.ty_like(self.cx.i32_type(), y))?;
        let odd = self.and(bits, self.int_like(bits, 1))?;
        let even = self.icmp(IntPredicate::EQ, odd, self.int_like(bits, 0))?;
        let step = self.select(too_large, self.int_like(bits, u64::MAX), self.int_like(bits, 1))?;
        let moved = self.add(bits, step)?;
        let bits = self.select(self.and(inexact, even)?, moved, bits)?;
        self.bitcast(bits, y.get_type())
    }

    /// Given `x` rounded to nearest as `y`, a narrower float: the neighbour towards zero if `y` is
    /// larger in magnitude.
    fn toward_zero(&mut self, x: V<'c>, y: V<'c>) -> Result<V<'c>> {
        let back = self.cast(I::FPExt, y, elem_ty(x))?;
        let (a, b) = (self.map1("llvm.fabs", back)?, self.map1("llvm.fabs", x)?);
        let too_large = self.fcmp(FloatPredicate::OGT, a, b)?;
        let int = match elem_ty(y) {
            BasicTypeEnum::FloatType(t) => self.int_ty(t.get_bit_width()),
            _ => return Err(Error::bug("expected a float")),
        };
        let bits = self.bitcast(y, self.ty_like(int, y))?;
        let below = self.sub(bits, self.int_like(bits, 1))?;
        let bits = self.select(too_large, below, bits)?;
        self.bitcast(bits, y.get_type())
    }

    /// A narrow float as `f32`, exactly.
    fn widen(&mut self, from: Scalar, x: V<'c>) -> Result<V<'c>> {
        if let Some(&wide) = self.exact.get(&x) {
            return Ok(wide);
        }
        if let Some(&wide) = splatted(x).and_then(|element| self.exact.get(&element)) {
            return self.splat(wide, lanes(x).unwrap_or(1));
        }
        let f32_ty = self.cx.f32_type();
        match from {
            Scalar::F16 if self.caps.f16_conversion => {
                let half = self.bitcast(x, self.ty_like(self.cx.f16_type(), x))?;
                self.cast(I::FPExt, half, f32_ty)
            }
            Scalar::BF16 => {
                let wide = self.zext_trunc(x, 32)?;
                let bits = self.shl(wide, self.int_like(wide, 16))?;
                self.bitcast(bits, self.ty_like(f32_ty, bits))
            }
            // Half of an f16, bit by bit.
            Scalar::E5M2 => {
                let wide = self.zext_trunc(x, 16)?;
                let bits = self.shl(wide, self.int_like(wide, 8))?;
                let half = self.bitcast(bits, self.ty_like(self.scalar_ty(Scalar::F16), bits))?;
                self.widen(Scalar::F16, half)
            }
            _ => self.decode(&Format::of(from)?, x),
        }
    }

    /// Decodes a narrow float with integer arithmetic.
    fn decode(&mut self, format: &Format, x: V<'c>) -> Result<V<'c>> {
        let f32_ty = self.cx.f32_type();
        let x = self.bitcast(x, self.ty_like(self.int_ty(format.bits), x))?;
        let x = self.zext_trunc(x, 32)?;
        let c = |l: &Self, n: u64| l.int_like(x, n);
        let sign_bit = 1u64 << (format.bits - 1);
        let magnitude = self.and(x, c(self, sign_bit - 1))?;
        let sign = self.shl(self.and(x, c(self, sign_bit))?, c(self, (32 - format.bits).into()))?;

        let aligned = self.shl(magnitude, c(self, (23 - format.fraction).into()))?;
        let normal = self.add(aligned, c(self, u64::from(127 - format.bias) << 23))?;
        // Denormals are integers, scaled; converting them is exact and quick, while arithmetic on
        // denormals of f32 is slow on some processors.
        let float = self.cast(I::UIToFP, magnitude, f32_ty)?;
        let least = 2f64.powi(1 - format.bias as i32 - format.fraction as i32);
        let scaled = self.bin(I::FMul, float, self.float_like(Scalar::F32, least, float))?;
        let denormal = self.bitcast(scaled, x.get_type())?;
        let is_denormal = self.icmp(IntPredicate::ULT, magnitude, c(self, 1 << format.fraction))?;
        let finite = self.select(is_denormal, denormal, normal)?;

        let infinity = if format.infinity == format.nan { 0x7fc0_0000 } else { 0x7f80_0000 };
        let special = self.or(aligned, c(self, infinity))?;
        let is_special = self.icmp(IntPredicate::UGT, magnitude, c(self, format.max))?;
        let bits = self.select(is_special, special, finite)?;
        let bits = self.or(bits, sign)?;
        self.bitcast(bits, self.ty_like(f32_ty, bits))
    }

    /// Rounds `f32` to a narrower float.
    fn narrow(&mut self, op: ConvertOp, to: Scalar, x: V<'c>) -> Result<V<'c>> {
        if to == Scalar::F16 && self.caps.f16_conversion {
            let y = self.cast(I::FPTrunc, x, self.cx.f16_type())?;
            let y = if op.rounding == Rounding::TowardZero { self.toward_zero(x, y)? } else { y };
            return self.bitcast(y, self.ty_like(self.scalar_ty(Scalar::F16), y));
        }
        let format = Format::of(to)?;
        let bits = self.encode(&format, op, to, x)?;
        let narrow = self.zext_trunc(bits, format.bits)?;
        self.bitcast(narrow, self.ty_like(self.scalar_ty(to), narrow))
    }

    /// Encodes `f32` as a narrow float, in the low bits of an `i32`.
    fn encode(&mut self, format: &Format, op: ConvertOp, to: Scalar, x: V<'c>) -> Result<V<'c>> {
        let bits = self.bitcast(x, self.ty_like(self.cx.i32_type(), x))?;
        let c = |l: &Self, n: u64| l.int_like(bits, n);
        let magnitude = self.and(bits, c(self, 0x7fff_ffff))?;
        let sign = self.xor(bits, magnitude)?;
        let sign = self.lshr(sign, c(self, (32 - format.bits).into()))?;

        let mut rounded = self.round_magnitude(format, magnitude)?;
        if op.rounding == Rounding::TowardZero {
            rounded = self.step_toward_zero(format, to, magnitude, rounded)?;
        }
        let overflow = if op.saturate && format.bits == 8 { format.max } else { format.infinity };
        let is_over = self.icmp(IntPredicate::UGT, rounded, c(self, format.max))?;
        let rounded = self.select(is_over, c(self, overflow), rounded)?;
        let is_infinite = self.icmp(IntPredicate::EQ, magnitude, c(self, 0x7f80_0000))?;
        let rounded = self.select(is_infinite, c(self, overflow), rounded)?;
        let is_nan = self.icmp(IntPredicate::UGT, magnitude, c(self, 0x7f80_0000))?;
        let rounded = self.select(is_nan, c(self, format.nan), rounded)?;
        self.or(rounded, sign)
    }

    /// Rounds the bits of a finite, positive `f32` to nearest even; beyond the format's largest
    /// number the result is larger than its encoding.
    fn round_magnitude(&mut self, format: &Format, magnitude: V<'c>) -> Result<V<'c>> {
        let c = |l: &Self, n: u64| l.int_like(magnitude, n);
        let shift = 23 - format.fraction;
        let rebias = u64::from(127 - format.bias) << 23;
        let lowest = self.lshr(magnitude, c(self, shift.into()))?;
        let lowest = self.and(lowest, c(self, 1))?;
        let half = (1u64 << (shift - 1)) - 1;
        let moved = self.add(magnitude, c(self, half.wrapping_sub(rebias)))?;
        let moved = self.add(moved, lowest)?;
        let normal = self.lshr(moved, c(self, shift.into()))?;
        if format.bias == 127 {
            return Ok(normal);
        }
        // Adding a power of two whose last place is the format's least number rounds to that
        // number's multiples, and leaves their count in the low bits.
        let magic = u64::from(127 - format.bias + shift + 1) << 23;
        let f32_ty = self.ty_like(self.cx.f32_type(), magnitude);
        let (x, m) = (self.bitcast(magnitude, f32_ty)?, self.bitcast(c(self, magic), f32_ty)?);
        let sum = self.bin(I::FAdd, x, m)?;
        let sum = self.bitcast(sum, magnitude.get_type())?;
        let denormal = self.sub(sum, c(self, magic))?;
        let is_denormal = self.icmp(IntPredicate::ULT, magnitude, c(self, rebias + (1 << 23)))?;
        self.select(is_denormal, denormal, normal)
    }

    /// Undoes a step away from zero.
    fn step_toward_zero(
        &mut self,
        format: &Format,
        to: Scalar,
        magnitude: V<'c>,
        rounded: V<'c>,
    ) -> Result<V<'c>> {
        let c = |l: &Self, n: u64| l.int_like(magnitude, n);
        let is_over = self.icmp(IntPredicate::UGT, rounded, c(self, format.max))?;
        let narrow = self.zext_trunc(rounded, format.bits)?;
        let narrow = self.bitcast(narrow, self.ty_like(self.scalar_ty(to), narrow))?;
        let back = self.widen(to, narrow)?;
        let back = self.bitcast(back, magnitude.get_type())?;
        // Positive floats are ordered as their bits are.
        let too_large = self.icmp(IntPredicate::UGT, back, magnitude)?;
        let below = self.sub(rounded, c(self, 1))?;
        let fixed = self.select(too_large, below, rounded)?;
        self.select(is_over, c(self, format.max), fixed)
    }
}
