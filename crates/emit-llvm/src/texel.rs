//! Texels in a format that is known when code runs, as [`phalanx_ir::Format`] states it.
//!
//! Code is given a format as words ([`describe`]), branches by what its components are, and takes their bits from the texel
//! by shifts. No component of a format lies on both sides of bit 64.

use crate::error::{Error, Result};
use crate::{Emit, V};
use inkwell::basic_block::BasicBlock;
use inkwell::values::InstructionOpcode as I;
use inkwell::{FloatPredicate, IntPredicate};
use phalanx_ir::texel::Numeric;
use phalanx_ir::{BinaryOp, Format, Scalar};

/// Words that describe a format.
pub const FORMAT_WORDS: usize = 6;

/// What components are, in the order of their numbers in the first word.
const NUMERICS: [Numeric; 8] = [
    Numeric::Uint,
    Numeric::Sint,
    Numeric::Unorm,
    Numeric::Snorm,
    Numeric::Float,
    Numeric::Ufloat,
    Numeric::SharedExponent,
    Numeric::Srgb,
];

/// What code has to know of a format: what its components are, the bytes of a texel, and for each component its first bit
/// and, from bit 8 on, its number of bits.
pub fn describe(format: Format) -> [u32; FORMAT_WORDS] {
    let number = NUMERICS.iter().position(|&numeric| numeric == format.numeric()).unwrap_or(0);
    let mut words = [number as u32, format.bytes() as u32, 0, 0, 0, 0];
    for (word, &(first, bits)) in words[2..].iter_mut().zip(format.component_bits()) {
        *word = first | bits << 8;
    }
    words
}

/// A component as code sees it.
#[derive(Clone, Copy, Debug)]
struct Component<'c> {
    /// `i64`s: its first bit, and how many it has.
    first: V<'c>,
    bits: V<'c>,
    is_alpha: bool,
}

impl<'c> Emit<'c> {
    /// The components (`i64`) of a texel (two `i64`) of a format.
    pub fn decode_texel(&mut self, format: &[V<'c>; FORMAT_WORDS], texel: [V<'c>; 2]) -> Result<Vec<V<'c>>> {
        let components = self.components(format)?;
        self.by_numeric(format[0], |e, numeric| {
            let mut values = Vec::new();
            for component in components {
                let raw = e.raw(component, texel)?;
                let value = e.decode_component(numeric, component, raw, texel[0])?;
                let is_integer = matches!(numeric, Numeric::Uint | Numeric::Sint);
                let one = if is_integer { 1 } else { i64::from(1.0_f32.to_bits()) };
                let lacking = e.i64(if component.is_alpha { one } else { 0 });
                let is_there = e.icmp(IntPredicate::NE, component.bits, e.i64(0))?;
                values.push(e.select(is_there, value, lacking)?);
            }
            Ok(values)
        })
    }

    /// The texel (two `i64`) of components (`i64`) in a format.
    pub fn encode_texel(&mut self, format: &[V<'c>; FORMAT_WORDS], values: [V<'c>; 4]) -> Result<Vec<V<'c>>> {
        let components = self.components(format)?;
        self.by_numeric(format[0], |e, numeric| {
            if numeric == Numeric::SharedExponent {
                return Ok(vec![e.encode_shared(values)?, e.i64(0)]);
            }
            let mut words = [e.i64(0); 2];
            for (component, value) in components.into_iter().zip(values) {
                let raw = e.encode_component(numeric, component, value)?;
                let raw = e.and(raw, e.mask(component.bits)?)?;
                let shift = e.and(component.first, e.i64(63))?;
                let placed = e.shl(raw, shift)?;
                let is_high = e.icmp(IntPredicate::UGE, component.first, e.i64(64))?;
                let parts = [e.select(is_high, e.i64(0), placed)?, e.select(is_high, placed, e.i64(0))?];
                words = [e.or(words[0], parts[0])?, e.or(words[1], parts[1])?];
            }
            Ok(words.to_vec())
        })
    }

    fn components(&mut self, format: &[V<'c>; FORMAT_WORDS]) -> Result<[Component<'c>; 4]> {
        let mut components = Vec::new();
        for (number, &word) in format[2..].iter().enumerate() {
            let word = self.zext_trunc(word, 64)?;
            let first = self.and(word, self.i64(0xff))?;
            let bits = self.lshr(word, self.i64(8))?;
            components.push(Component { first, bits, is_alpha: number == 3 });
        }
        components.try_into().map_err(|_| Error::bug("a format has words for four components"))
    }

    /// Does what there is to do for the kind of components that a number stands for.
    fn by_numeric(
        &mut self,
        number: V<'c>,
        mut body: impl FnMut(&mut Self, Numeric) -> Result<Vec<V<'c>>>,
    ) -> Result<Vec<V<'c>>> {
        let function = self.here()?.get_parent().ok_or_else(|| Error::bug("a block without a function"))?;
        let blocks = NUMERICS.map(|_| self.new_block(function, "numeric"));
        let done = self.new_block(function, "texel");
        let cases: Vec<_> =
            (0..).zip(blocks).map(|(i, block)| (self.i32(i).into_int_value(), block)).collect();
        self.b.build_switch(number.into_int_value(), blocks[0], &cases[1..])?;
        let mut all: Vec<Vec<(V<'c>, BasicBlock<'c>)>> = Vec::new();
        for (numeric, block) in NUMERICS.into_iter().zip(blocks) {
            self.b.position_at_end(block);
            let values = body(self, numeric)?;
            let end = self.here()?;
            self.br(done)?;
            all.resize(values.len(), Vec::new());
            for (incoming, value) in all.iter_mut().zip(values) {
                incoming.push((value, end));
            }
        }
        self.b.position_at_end(done);
        all.iter().map(|incoming| self.merge(incoming)).collect()
    }

    /// So many bits (at most 64), all set; none for 0.
    fn mask(&self, bits: V<'c>) -> Result<V<'c>> {
        let unused = self.sub(self.i64(64), bits)?;
        let mask = self.lshr(self.i64(-1), self.and(unused, self.i64(63))?)?;
        self.select(self.icmp(IntPredicate::EQ, bits, self.i64(0))?, bits, mask)
    }

    fn raw(&mut self, component: Component<'c>, texel: [V<'c>; 2]) -> Result<V<'c>> {
        let is_low = self.icmp(IntPredicate::ULT, component.first, self.i64(64))?;
        let half = self.select(is_low, texel[0], texel[1])?;
        let shifted = self.lshr(half, self.and(component.first, self.i64(63))?)?;
        self.and(shifted, self.mask(component.bits)?)
    }

    /// The bits of an `f32`, as `i64`.
    fn float_word(&self, x: V<'c>) -> Result<V<'c>> {
        self.zext_trunc(self.as_bits(Scalar::F32, x)?, 64)
    }

    fn word_float(&self, word: V<'c>) -> Result<V<'c>> {
        self.with_bits(Scalar::F32, self.zext_trunc(word, 32)?)
    }

    fn float_of_int(&self, op: I, x: V<'c>) -> Result<V<'c>> {
        self.cast(op, x, self.cx.f32_type())
    }

    fn decode_component(
        &mut self,
        numeric: Numeric,
        component: Component<'c>,
        raw: V<'c>,
        word: V<'c>,
    ) -> Result<V<'c>> {
        let sign_shift = self.and(self.sub(self.i64(64), component.bits)?, self.i64(63))?;
        let signed = self.ashr(self.shl(raw, sign_shift)?, sign_shift)?;
        let x = match numeric {
            Numeric::Uint => return Ok(raw),
            Numeric::Sint => {
                let narrow = self.and(signed, self.i64(u32::MAX.into()))?;
                let is_wide = self.icmp(IntPredicate::EQ, component.bits, self.i64(64))?;
                return self.select(is_wide, raw, narrow);
            }
            Numeric::Srgb if !component.is_alpha => self.srgb_to_linear(raw)?,
            Numeric::Unorm | Numeric::Srgb => {
                let whole = self.mask(component.bits)?;
                let (x, whole) = (self.float_of_int(I::UIToFP, raw)?, self.float_of_int(I::UIToFP, whole)?);
                self.bin(I::FDiv, x, whole)?
            }
            Numeric::Snorm => {
                let whole = self.lshr(self.mask(component.bits)?, self.i64(1))?;
                let (x, whole) =
                    (self.float_of_int(I::SIToFP, signed)?, self.float_of_int(I::UIToFP, whole)?);
                let x = self.bin(I::FDiv, x, whole)?;
                let least = self.float_const(Scalar::F32, -1.0);
                let is_below = self.fcmp(FloatPredicate::OLT, x, least)?;
                self.select(is_below, least, x)?
            }
            Numeric::Float => {
                let half = self.as_half(raw)?;
                let half = self.float_word(half)?;
                let is_half = self.icmp(IntPredicate::EQ, component.bits, self.i64(16))?;
                return self.select(is_half, half, raw);
            }
            // A half without sign and the last bits.
            Numeric::Ufloat => {
                let missing = self.and(self.sub(self.i64(15), component.bits)?, self.i64(15))?;
                self.as_half(self.shl(raw, missing)?)?
            }
            Numeric::SharedExponent => {
                let exponent = self.and(self.lshr(word, self.i64(27))?, self.i64(31))?;
                let exponent = self.add(exponent, self.i64(127 - 15 - 9))?;
                let scale = self.word_float(self.shl(exponent, self.i64(23))?)?;
                self.bin(I::FMul, self.float_of_int(I::UIToFP, raw)?, scale)?
            }
        };
        self.float_word(x)
    }

    /// The `f32` that is the half in the low bits.
    fn as_half(&mut self, bits: V<'c>) -> Result<V<'c>> {
        let half = self.with_bits(Scalar::F16, self.zext_trunc(bits, 16)?)?;
        self.as_f32(Scalar::F16, half)
    }

    /// A component of 8 bits in the sRGB transfer function, by a table.
    fn srgb_to_linear(&mut self, raw: V<'c>) -> Result<V<'c>> {
        let f32_ty = self.cx.f32_type();
        let values: Vec<_> = (0..=u8::MAX)
            .map(|byte| {
                let bits = Format::R8Srgb.decode(&[byte])[0];
                self.scalar_const(Scalar::F32, bits).into_float_value()
            })
            .collect();
        let table = self.constant_data(f32_ty.const_array(&values).into(), 4);
        let index = self.and(raw, self.i64(0xff))?;
        let at = self.element_ptr(f32_ty.into(), table.into(), index)?;
        self.load(f32_ty, at.into_pointer_value(), 4)
    }

    fn encode_component(
        &mut self,
        numeric: Numeric,
        component: Component<'c>,
        value: V<'c>,
    ) -> Result<V<'c>> {
        let x = self.word_float(value)?;
        match numeric {
            Numeric::Uint | Numeric::Sint => Ok(value),
            Numeric::Srgb if !component.is_alpha => {
                let x = self.linear_to_srgb(x)?;
                let whole = self.mask(component.bits)?;
                self.normalized(x, 0.0, whole)
            }
            Numeric::Unorm | Numeric::Srgb => {
                let whole = self.mask(component.bits)?;
                self.normalized(x, 0.0, whole)
            }
            Numeric::Snorm => {
                let whole = self.mask(component.bits)?;
                self.normalized(x, -1.0, self.lshr(whole, self.i64(1))?)
            }
            Numeric::Float => {
                let half = self.round_f32(Scalar::F16, x)?;
                let half = self.zext_trunc(self.as_bits(Scalar::F16, half)?, 64)?;
                let is_half = self.icmp(IntPredicate::EQ, component.bits, self.i64(16))?;
                self.select(is_half, half, value)
            }
            Numeric::Ufloat => self.encode_small_float(x, component.bits),
            Numeric::SharedExponent => {
                Err(Error::bug("components with one exponent are no numbers of their own"))
            }
        }
    }

    /// The integer nearest to `x` times a whole number; `x` is clamped to `least..=1`, and a NaN is 0.
    fn normalized(&mut self, x: V<'c>, least: f64, whole: V<'c>) -> Result<V<'c>> {
        let x = self.cast(I::FPExt, x, self.cx.f64_type())?;
        let number = |x| self.float_const(Scalar::F64, x);
        let (zero, one, least) = (number(0.0), number(1.0), number(least));
        let x = self.select(self.fcmp(FloatPredicate::UNO, x, x)?, zero, x)?;
        let x = self.select(self.fcmp(FloatPredicate::OLT, x, least)?, least, x)?;
        let x = self.select(self.fcmp(FloatPredicate::OGT, x, one)?, one, x)?;
        let whole = self.cast(I::UIToFP, whole, self.cx.f64_type())?;
        let product = self.bin(I::FMul, x, whole)?;
        let rounded = self.map1("llvm.roundeven", product)?;
        // No number is beyond the format's.
        self.cast(I::FPToSI, rounded, self.cx.i64_type())
    }

    fn linear_to_srgb(&mut self, x: V<'c>) -> Result<V<'c>> {
        let number = |x| self.float_const(Scalar::F32, x);
        let (limit, slope, power) = (number(0.003_130_8), number(12.92), number(1.0 / 2.4));
        let (scale, offset) = (number(1.055), number(-0.055));
        let linear = self.bin(I::FMul, x, slope)?;
        let root = self.binary(BinaryOp::Pow, Scalar::F32, x, power, true)?;
        let curved = self.bin(I::FAdd, self.bin(I::FMul, root, scale)?, offset)?;
        self.select(self.fcmp(FloatPredicate::OLE, x, limit)?, linear, curved)
    }

    /// The nearest float of so many bits without a sign, 5 of them the exponent. What is too large becomes the largest
    /// finite one, and what is negative zero.
    fn encode_small_float(&mut self, x: V<'c>, bits: V<'c>) -> Result<V<'c>> {
        let mantissa = self.and(self.sub(bits, self.i64(5))?, self.i64(63))?;
        let infinity = self.shl(self.i64(31), mantissa)?;
        let wide = self.cast(I::FPExt, x, self.cx.f64_type())?;
        let exponent = self.exponent_of(wide)?;
        let exponent = self.map2("llvm.smax", exponent, self.i64(-14))?;
        let units = self.scaled_by(wide, self.sub(mantissa, exponent)?)?;
        let units = self.map1("llvm.roundeven", units)?;
        let units = self.intrinsic(
            "llvm.fptosi.sat",
            &[self.cx.i64_type().into(), self.cx.f64_type().into()],
            &[units],
        )?;
        let field = self.shl(self.add(exponent, self.i64(14))?, mantissa)?;
        let rounded = self.add(field, units)?;
        let finite = self.map2("llvm.umin", rounded, self.sub(infinity, self.i64(1))?)?;
        let endless = self.float_const(Scalar::F32, f64::INFINITY);
        let value = self.select(self.fcmp(FloatPredicate::OEQ, x, endless)?, infinity, finite)?;
        let zero = self.float_const(Scalar::F32, 0.0);
        let value = self.select(self.fcmp(FloatPredicate::OLE, x, zero)?, self.i64(0), value)?;
        let one = self.lshr(self.shl(self.i64(1), mantissa)?, self.i64(1))?;
        let nan = self.or(infinity, one)?;
        self.select(self.fcmp(FloatPredicate::UNO, x, x)?, nan, value)
    }

    /// The exponent of the highest bit of a positive normal `f64` (`i64`).
    fn exponent_of(&self, x: V<'c>) -> Result<V<'c>> {
        let field = self.lshr(self.as_bits(Scalar::F64, x)?, self.i64(52))?;
        self.sub(self.and(field, self.i64(0x7ff))?, self.i64(1023))
    }

    /// `x` times two to a power that is a normal number.
    fn scaled_by(&self, x: V<'c>, power: V<'c>) -> Result<V<'c>> {
        let field = self.add(power, self.i64(1023))?;
        let factor = self.with_bits(Scalar::F64, self.shl(field, self.i64(52))?)?;
        self.bin(I::FMul, x, factor)
    }

    /// The word with the least exponent that the largest of three components fits.
    fn encode_shared(&mut self, values: [V<'c>; 4]) -> Result<V<'c>> {
        let f64_ty = self.cx.f64_type();
        let number = |x| self.float_const(Scalar::F64, x);
        let (zero, largest, half) = (number(0.0), number(511.0 * 128.0), number(0.5));
        let mut clamped = Vec::new();
        for &value in &values[..3] {
            let x = self.cast(I::FPExt, self.word_float(value)?, f64_ty)?;
            // What is no number is 0.
            let x = self.select(self.fcmp(FloatPredicate::OGT, x, zero)?, x, zero)?;
            clamped.push(self.select(self.fcmp(FloatPredicate::OGT, x, largest)?, largest, x)?);
        }
        let mut max = zero;
        for &x in &clamped {
            max = self.select(self.fcmp(FloatPredicate::OGT, x, max)?, x, max)?;
        }
        let mantissa = |e: &mut Self, x: V<'c>, exponent: V<'c>| {
            let y = e.scaled_by(x, e.sub(e.i64(24), exponent)?)?;
            // To nearest, halves away from zero.
            let y = e.bin(I::FAdd, y, half)?;
            e.cast(I::FPToSI, y, e.cx.i64_type())
        };
        let exponent = self.add(self.exponent_of(max)?, self.i64(16))?;
        let exponent = self.map2("llvm.smax", exponent, self.i64(0))?;
        let top = mantissa(self, max, exponent)?;
        let more = self.icmp(IntPredicate::SGT, top, self.i64(511))?;
        let exponent = self.add(exponent, self.zext_trunc(more, 64)?)?;
        let mut word = self.shl(exponent, self.i64(27))?;
        for (x, first) in clamped.into_iter().zip([0, 9, 18]) {
            let y = mantissa(self, x, exponent)?;
            let y = self.map2("llvm.smin", y, self.i64(511))?;
            word = self.or(word, self.shl(y, self.i64(first))?)?;
        }
        Ok(word)
    }
}
