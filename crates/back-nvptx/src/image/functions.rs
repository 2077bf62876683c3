//! The functions that all operations on images of a kernel call.

use super::{EXTENT, FORMAT, LAYER_PITCH, LAYERS, LEVEL, LEVEL_BYTES, LEVELS, SWIZZLE, TEXEL_BYTES};
use crate::lower::{ADDRESS_SPACE_GLOBAL, Lower};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Linkage;
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use inkwell::values::{BasicMetadataValueEnum, FunctionValue, InstructionOpcode as I, PointerValue};
use inkwell::{AddressSpace, IntPredicate};
use phalanx_emit_llvm::texel::FORMAT_WORDS;
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::image::MAX_LEVELS;

/// The functions of a kernel that work on texels.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Functions<'c> {
    place: Option<FunctionValue<'c>>,
    read: Option<FunctionValue<'c>>,
    write: Option<FunctionValue<'c>>,
}

impl<'c> Lower<'_, 'c> {
    /// Calls one of them.
    pub(super) fn call_texel(
        &mut self,
        function: FunctionValue<'c>,
        args: &[V<'c>],
    ) -> Result<Option<V<'c>>> {
        let args: Vec<BasicMetadataValueEnum<'c>> = args.iter().map(|&a| a.into()).collect();
        Ok(self.e.b.build_call(function, &args, "")?.try_as_basic_value().basic())
    }

    /// Makes a function of its own; what `body` gives is returned, as a structure if it is several values.
    fn outlined(
        &mut self,
        name: &str,
        params: &[BasicTypeEnum<'c>],
        results: &[BasicTypeEnum<'c>],
        body: impl FnOnce(&mut Self, &[V<'c>]) -> Result<Vec<V<'c>>>,
    ) -> Result<FunctionValue<'c>> {
        let types: Vec<BasicMetadataTypeEnum<'c>> = params.iter().map(|&ty| ty.into()).collect();
        let ty = match results {
            [] => self.e.cx.void_type().fn_type(&types, false),
            [one] => one.fn_type(&types, false),
            several => self.e.cx.struct_type(several, false).fn_type(&types, false),
        };
        let function = self.e.module.add_function(name, ty, Some(Linkage::Internal));
        for name in ["noinline", "nounwind"] {
            let kind = Attribute::get_named_enum_kind_id(name);
            function.add_attribute(AttributeLoc::Function, self.e.cx.create_enum_attribute(kind, 0));
        }
        let (here, around) = (self.e.here()?, std::mem::replace(&mut self.function, function));
        let start = self.new_block("entry");
        self.e.b.position_at_end(start);
        let values = body(self, &function.get_params())?;
        match &values[..] {
            [] => self.e.b.build_return(None)?,
            [one] => self.e.b.build_return(Some(one))?,
            several => self.e.b.build_aggregate_return(several)?,
        };
        self.function = around;
        self.e.b.position_at_end(here);
        Ok(function)
    }

    /// A word of a record.
    pub(super) fn record_word(&self, record: PointerValue<'c>, at: u64) -> Result<V<'c>> {
        self.e.load_invariant(self.e.cx.i32_type(), self.e.field(record, at)?, 4)
    }

    fn record_long(&self, record: PointerValue<'c>, at: u64) -> Result<V<'c>> {
        self.e.load_invariant(self.e.cx.i64_type(), self.e.field(record, at)?, 8)
    }

    pub(super) fn global(&self, at: V<'c>) -> Result<PointerValue<'c>> {
        let ty = self.e.cx.ptr_type(AddressSpace::from(ADDRESS_SPACE_GLOBAL));
        Ok(self.e.cast(I::IntToPtr, at, ty)?.into_pointer_value())
    }

    /// The texels of a level along an axis.
    pub(super) fn level_extent(
        &mut self,
        record: PointerValue<'c>,
        axis: u64,
        level: V<'c>,
    ) -> Result<V<'c>> {
        let extent = self.record_word(record, EXTENT + 4 * axis)?;
        let shift = self.e.map2("llvm.umin", level, self.e.i32(31))?;
        let less = self.e.lshr(extent, shift)?;
        let least = self.e.map2("llvm.umin", extent, self.e.i32(1))?;
        self.e.map2("llvm.umax", less, least)
    }

    /// `(record, x, y, z, layer, level) → address`.
    pub(super) fn finder(&mut self) -> Result<FunctionValue<'c>> {
        if let Some(function) = self.images.place {
            return Ok(function);
        }
        let (word, long) = (self.e.cx.i32_type().into(), self.e.cx.i64_type().into());
        let record = self.e.cx.ptr_type(AddressSpace::from(ADDRESS_SPACE_GLOBAL)).into();
        let params = [record, word, word, word, word, word];
        let function = self.outlined("image_place", &params, &[long], |l, args| {
            let record = args[0].into_pointer_value();
            let level = args[5];
            let levels = l.record_word(record, LEVELS)?;
            let most = l.e.map2("llvm.umin", levels, l.e.i32(MAX_LEVELS as u32))?;
            let mut is_inside = l.e.icmp(IntPredicate::ULT, level, most)?;
            let level = l.e.select(is_inside, level, l.e.i32(0))?;
            let step = l.e.mul(l.e.zext_trunc(level, 64)?, l.e.i64(LEVEL_BYTES as i64))?;
            let place = l.e.offset(record.into(), step)?.into_pointer_value();
            let bytes = l.record_word(record, TEXEL_BYTES)?;
            let bytes = l.e.zext_trunc(bytes, 64)?;
            let pitches = [bytes, l.record_long(place, LEVEL + 8)?, l.record_long(place, LEVEL + 16)?];
            let mut offset = l.record_long(place, LEVEL)?;
            for (axis, pitch) in (0..).zip(pitches) {
                let extent = l.level_extent(record, axis, level)?;
                let x = args[1 + axis as usize];
                is_inside = l.e.and(is_inside, l.e.icmp(IntPredicate::ULT, x, extent)?)?;
                offset = l.e.add(offset, l.e.mul(l.e.zext_trunc(x, 64)?, pitch)?)?;
            }
            let (layer, layers) = (args[4], l.record_word(record, LAYERS)?);
            is_inside = l.e.and(is_inside, l.e.icmp(IntPredicate::ULT, layer, layers)?)?;
            let pitch = l.record_long(record, LAYER_PITCH)?;
            offset = l.e.add(offset, l.e.mul(l.e.zext_trunc(layer, 64)?, pitch)?)?;
            let end = l.e.map2("llvm.usub.sat", l.record_long(record, 8)?, l.e.sub(bytes, l.e.i64(1))?)?;
            is_inside = l.e.and(is_inside, l.e.icmp(IntPredicate::ULT, offset, end)?)?;
            let address = l.e.add(l.record_long(record, 0)?, offset)?;
            Ok(vec![l.e.select(is_inside, address, l.e.i64(0))?])
        })?;
        self.images.place = Some(function);
        Ok(function)
    }

    fn format(&self, record: PointerValue<'c>) -> Result<[V<'c>; FORMAT_WORDS]> {
        let words = (0..FORMAT_WORDS as u64).map(|i| self.record_word(record, FORMAT + 4 * i));
        let words = words.collect::<Result<Vec<_>>>()?;
        words.try_into().map_err(|_| Error::bug("a format has so many words"))
    }

    /// `(record, address) → components`; outside, of a texel of zeros.
    pub(super) fn reader(&mut self) -> Result<FunctionValue<'c>> {
        if let Some(function) = self.images.read {
            return Ok(function);
        }
        let long: BasicTypeEnum<'c> = self.e.cx.i64_type().into();
        let record = self.e.cx.ptr_type(AddressSpace::from(ADDRESS_SPACE_GLOBAL)).into();
        let function = self.outlined("image_read", &[record, long], &[long; 4], |l, args| {
            let (record, at) = (args[0].into_pointer_value(), args[1]);
            let is_inside = l.e.icmp(IntPredicate::NE, at, l.e.i64(0))?;
            let outside = vec![l.e.i64(0); 2];
            let texel = l.either(is_inside, |l| l.texel_words(record, at, None), |_| Ok(outside))?;
            let format = l.format(record)?;
            let components = l.e.decode_texel(&format, [texel[0], texel[1]])?;
            l.swizzled(record, format[0], &components)
        })?;
        self.images.read = Some(function);
        Ok(function)
    }

    /// `(record, address, components) → ()`.
    pub(super) fn writer(&mut self) -> Result<FunctionValue<'c>> {
        if let Some(function) = self.images.write {
            return Ok(function);
        }
        let long: BasicTypeEnum<'c> = self.e.cx.i64_type().into();
        let record = self.e.cx.ptr_type(AddressSpace::from(ADDRESS_SPACE_GLOBAL)).into();
        let params = [record, long, long, long, long, long];
        let function = self.outlined("image_write", &params, &[], |l, args| {
            let (record, at) = (args[0].into_pointer_value(), args[1]);
            let is_inside = l.e.icmp(IntPredicate::NE, at, l.e.i64(0))?;
            l.either(
                is_inside,
                |l| {
                    let format = l.format(record)?;
                    let texel = l.e.encode_texel(&format, [args[2], args[3], args[4], args[5]])?;
                    l.texel_words(record, at, Some([texel[0], texel[1]]))?;
                    Ok(Vec::new())
                },
                |_| Ok(Vec::new()),
            )
        })?;
        self.images.write = Some(function);
        Ok(function)
    }

    /// Reads the words of a texel, or writes them: all of it at once where it lies at a multiple of its size, otherwise
    /// byte by byte.
    fn texel_words(
        &mut self,
        record: PointerValue<'c>,
        at: V<'c>,
        new: Option<[V<'c>; 2]>,
    ) -> Result<Vec<V<'c>>> {
        let bytes = self.record_word(record, TEXEL_BYTES)?;
        let wide = self.e.zext_trunc(bytes, 64)?;
        let low = self.e.and(at, self.e.sub(wide, self.e.i64(1))?)?;
        let is_aligned = self.e.icmp(IntPredicate::EQ, low, self.e.i64(0))?;
        let sizes = [1, 2, 4, 8, 16];
        // Sizes from 17 on do not exist, so the last one is for what is not aligned.
        let size = self.e.select(is_aligned, bytes, self.e.i32(0))?;
        let done = self.new_block("words");
        let mut incoming = Vec::new();
        for size_of in sizes {
            let [this, other] = ["size", "other"].map(|name| self.new_block(name));
            let is_it = self.e.icmp(IntPredicate::EQ, size, self.e.i32(size_of))?;
            self.e.cond_br(is_it, this, other)?;
            self.e.b.position_at_end(this);
            let words = self.move_texel(at, size_of.min(8), size_of.div_ceil(8), new)?;
            incoming.push((words, self.e.here()?));
            self.e.br(done)?;
            self.e.b.position_at_end(other);
        }
        let words = self.move_bytes(at, wide, new)?;
        incoming.push((words, self.e.here()?));
        self.e.br(done)?;
        self.e.b.position_at_end(done);
        if new.is_some() {
            return Ok(Vec::new());
        }
        let word = |i: usize| incoming.iter().map(|(words, block)| (words[i], *block)).collect::<Vec<_>>();
        Ok(vec![self.e.merge(&word(0))?, self.e.merge(&word(1))?])
    }

    /// Moves a texel that is one aligned access, or two.
    fn move_texel(
        &mut self,
        at: V<'c>,
        bytes: u32,
        count: u32,
        new: Option<[V<'c>; 2]>,
    ) -> Result<Vec<V<'c>>> {
        let ty = self.e.int_ty(8 * bytes);
        let mut words = vec![self.e.i64(0); 2];
        for (i, word) in words.iter_mut().enumerate().take(count as usize) {
            let place = self.e.field(self.global(at)?, 8 * i as u64)?;
            match new {
                Some(new) => {
                    self.e.store(self.e.zext_trunc(new[i], 8 * bytes)?, place, bytes)?;
                }
                None => *word = self.e.zext_trunc(self.e.load(ty, place, bytes)?, 64)?,
            }
        }
        Ok(words)
    }

    /// Moves a texel of so many bytes, one after the other.
    fn move_bytes(&mut self, at: V<'c>, bytes: V<'c>, new: Option<[V<'c>; 2]>) -> Result<Vec<V<'c>>> {
        let zeros = [self.e.i64(0); 2];
        self.repeat(16, &zeros, |l, i, words| {
            let exists = l.e.icmp(IntPredicate::ULT, i, bytes)?;
            let shift = l.e.shl(l.e.and(i, l.e.i64(7))?, l.e.i64(3))?;
            let is_high = l.e.icmp(IntPredicate::UGE, i, l.e.i64(8))?;
            let words = [words[0], words[1]];
            l.either(
                exists,
                |l| {
                    let place = l.global(l.e.add(at, i)?)?;
                    if let Some([low, high]) = new {
                        let byte = l.e.lshr(l.e.select(is_high, high, low)?, shift)?;
                        l.e.store(l.e.zext_trunc(byte, 8)?, place, 1)?;
                        return Ok(words.to_vec());
                    }
                    let byte = l.e.zext_trunc(l.e.load(l.e.cx.i8_type(), place, 1)?, 64)?;
                    let byte = l.e.shl(byte, shift)?;
                    let zero = l.e.i64(0);
                    let low = l.e.or(words[0], l.e.select(is_high, zero, byte)?)?;
                    Ok(vec![low, l.e.or(words[1], l.e.select(is_high, byte, zero)?)?])
                },
                |_| Ok(words.to_vec()),
            )
        })
    }

    /// The components that the view makes of those of a texel.
    fn swizzled(
        &mut self,
        record: PointerValue<'c>,
        numeric: V<'c>,
        components: &[V<'c>],
    ) -> Result<Vec<V<'c>>> {
        // The first two kinds of components are integers.
        let is_integer = self.e.icmp(IntPredicate::ULT, numeric, self.e.i32(2))?;
        let one = self.e.select(is_integer, self.e.i64(1), self.e.i64(1.0_f32.to_bits().into()))?;
        let swizzle = self.record_word(record, SWIZZLE)?;
        let mut results = Vec::new();
        for number in 0..4 {
            let which = self.e.lshr(swizzle, self.e.i32(8 * number))?;
            let which = self.e.and(which, self.e.i32(0xff))?;
            let mut value = self.e.i64(0);
            for (i, &component) in (1..).zip([one].iter().chain(components)) {
                let is_it = self.e.icmp(IntPredicate::EQ, which, self.e.i32(i))?;
                value = self.e.select(is_it, component, value)?;
            }
            results.push(value);
        }
        Ok(results)
    }
}
