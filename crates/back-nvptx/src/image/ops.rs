//! Operations on images.

use super::{LAYERS, LEVELS, TEXEL_BYTES};
use crate::lower::Lower;
use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode as I, PointerValue};
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::image::{ImageDim, ImageKind};
use phalanx_ir::{AtomicOp, Binding, BindingKind, ImageOp, Inst, Value};

impl<'c> Lower<'_, 'c> {
    pub(crate) fn lower_image(&mut self, inst: Inst, binding: Binding, op: ImageOp) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        let BindingKind::Image(kind) = self.ir.binding(binding).kind else {
            return Err(Error::bug("an operation on images without an image"));
        };
        let index = self.scalar(info.args[0])?;
        let (record, _) = self.buffer(binding, index)?;
        let record = record.into_pointer_value();
        let nothing = self.e.cast(I::PtrToInt, record.into(), self.e.cx.i64_type())?;
        let is_bound = self.e.icmp(IntPredicate::NE, nothing, self.e.i64(0))?;
        let mut zeros = Vec::new();
        for &result in &info.results {
            zeros.push(self.e.zero(self.e.scalar_ty(self.scalar_ty(result)?)));
        }
        let args = &info.args[1..];
        let results = &info.results;
        let values = self.either(
            is_bound,
            |l| match op {
                ImageOp::Load => l.image_load(record, kind, args, results),
                ImageOp::Store => l.image_store(record, kind, args),
                ImageOp::Atomic(op) => l.image_atomic(record, kind, op, args, results),
                ImageOp::Size => l.image_size(record, kind, args),
                ImageOp::Levels => Ok(vec![l.record_word(record, LEVELS)?]),
                ImageOp::Sample(_) => Err(Error::unsupported("image_sample")),
            },
            |_| Ok(zeros),
        )?;
        for (&result, value) in info.results.iter().zip(values) {
            self.define(result, value);
        }
        Ok(())
    }

    fn image_load(
        &mut self,
        record: PointerValue<'c>,
        kind: ImageKind,
        args: &[Value],
        results: &[Value],
    ) -> Result<Vec<V<'c>>> {
        let (coordinates, level) = args.split_at(kind.coordinates());
        let at = self.texel_place(record, kind, coordinates, level.first().copied())?;
        let function = self.reader()?;
        let texel = self.call_texel(function, &[record.into(), at])?;
        let texel = texel.ok_or_else(|| Error::bug("reading gives a texel"))?.into_struct_value();
        let mut values = Vec::new();
        for (&result, i) in results.iter().zip(0..) {
            let s = self.scalar_ty(result)?;
            let bits = self.e.b.build_extract_value(texel, i, "")?;
            values.push(self.e.with_bits(s, self.e.zext_trunc(bits, s.bits())?)?);
        }
        Ok(values)
    }

    fn image_store(
        &mut self,
        record: PointerValue<'c>,
        kind: ImageKind,
        args: &[Value],
    ) -> Result<Vec<V<'c>>> {
        let (coordinates, values) = args.split_at(kind.coordinates());
        let at = self.texel_place(record, kind, coordinates, None)?;
        let mut all: Vec<V<'c>> = vec![record.into(), at];
        for &value in values {
            let bits = self.e.as_bits(self.scalar_ty(value)?, self.scalar(value)?)?;
            all.push(self.e.zext_trunc(bits, 64)?);
        }
        let function = self.writer()?;
        self.call_texel(function, &all)?;
        Ok(Vec::new())
    }

    fn image_atomic(
        &mut self,
        record: PointerValue<'c>,
        kind: ImageKind,
        op: AtomicOp,
        args: &[Value],
        results: &[Value],
    ) -> Result<Vec<V<'c>>> {
        let (coordinates, values) = args.split_at(kind.coordinates());
        let typed = results.first().or_else(|| values.first());
        let s = self.scalar_ty(*typed.ok_or_else(|| Error::bug("an atomic operation has a type"))?)?;
        let xs = values.iter().map(|&v| self.scalar(v)).collect::<Result<Vec<_>>>()?;
        let at = self.texel_place(record, kind, coordinates, None)?;
        let is_inside = self.e.icmp(IntPredicate::NE, at, self.e.i64(0))?;
        let bytes = self.record_word(record, TEXEL_BYTES)?;
        let fits = self.e.icmp(IntPredicate::EQ, bytes, self.e.i32(s.bytes()))?;
        let low = self.e.and(at, self.e.i64(i64::from(s.bytes()) - 1))?;
        let is_aligned = self.e.icmp(IntPredicate::EQ, low, self.e.i64(0))?;
        let is_possible = self.e.and(self.e.and(is_inside, fits)?, is_aligned)?;
        let zeros = if results.is_empty() { Vec::new() } else { vec![self.e.zero(self.e.scalar_ty(s))] };
        self.either(
            is_possible,
            |l| {
                let at = l.global(at)?;
                Ok(l.e.atomic(op, s, at, &xs)?.into_iter().collect())
            },
            |_| Ok(zeros),
        )
    }

    fn image_size(
        &mut self,
        record: PointerValue<'c>,
        kind: ImageKind,
        args: &[Value],
    ) -> Result<Vec<V<'c>>> {
        let level = match args.first() {
            Some(&level) => self.scalar(level)?,
            None => self.e.i32(0),
        };
        let levels = self.record_word(record, LEVELS)?;
        let exists = self.e.icmp(IntPredicate::ULT, level, levels)?;
        let mut sizes = Vec::new();
        for axis in 0..kind.axes().min(if kind.dim == ImageDim::Cube { 2 } else { 3 }) {
            sizes.push(self.level_extent(record, axis as u64, level)?);
        }
        if kind.arrayed {
            let layers = self.record_word(record, LAYERS)?;
            sizes.push(match kind.dim {
                ImageDim::Cube => self.e.bin(I::UDiv, layers, self.e.i32(6))?,
                _ => layers,
            });
        }
        sizes.into_iter().map(|size| self.e.select(exists, size, self.e.i32(0))).collect()
    }

    /// The address of the texel with these coordinates; 0 outside.
    fn texel_place(
        &mut self,
        record: PointerValue<'c>,
        kind: ImageKind,
        coordinates: &[Value],
        level: Option<Value>,
    ) -> Result<V<'c>> {
        let zero = self.e.i32(0);
        let all = coordinates.iter().map(|&v| self.scalar(v)).collect::<Result<Vec<_>>>()?;
        let [x, y, z] = [0, 1, 2].map(|i| all.get(i).copied().unwrap_or(zero));
        let [x, y, z, layer] = match (kind.dim, kind.arrayed) {
            (ImageDim::Buffer, _) | (ImageDim::D1, false) => [x, zero, zero, zero],
            (ImageDim::D1, true) => [x, zero, zero, y],
            (ImageDim::D2, false) => [x, y, zero, zero],
            (ImageDim::D2, true) | (ImageDim::Cube, _) => [x, y, zero, z],
            (ImageDim::D3, _) => [x, y, z, zero],
        };
        let level = level.map_or(Ok(zero), |level| self.scalar(level))?;
        let function = self.finder()?;
        let at = self.call_texel(function, &[record.into(), x, y, z, layer, level])?;
        at.ok_or_else(|| Error::bug("finding gives a place"))
    }
}
